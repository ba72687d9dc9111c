"use strict";
/* The page without this script shows the same pictures and tables. What it adds: figures under the
   pointer, a panel for what is chosen, marks in the timeline, zooming, the keyboard. */
(function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    const layers = data.layers, devices = data.plan.devices, letters = data.letters;
    const panel = document.getElementById("panel"), tip = document.getElementById("tip");
    const COLOURS = 8, SVG = "http://www.w3.org/2000/svg";
    const COMPUTE = 0, SEND = 1;

    /* --- words and numbers --- */

    function scaled(value, step, names) {
        let i = 0;
        while (i + 1 < names.length && value >= step * 0.99995) {
            value /= step;
            i++;
        }
        const whole = value >= 99.995 || (i === 0 && value === Math.floor(value));
        return value.toFixed(whole ? 0 : value >= 9.9995 ? 1 : 2) + " " + names[i];
    }
    const asTime = ns => scaled(ns, 1000, ["ns", "us", "ms", "s"]);
    const asBytes = bytes => scaled(bytes, 1000, ["B", "kB", "MB", "GB", "TB"]);
    const asCount = n => scaled(n, 1000, ["", "k", "M", "G", "T"]).trim();
    const asPart = part => (100 * part).toFixed(part < 0.0995 ? 1 : 0) + " %";

    /* Regions are [h0, h1, w0, w1, c0, c1]. */
    const elements = r => (r[1] - r[0]) * (r[3] - r[2]) * (r[5] - r[4]);
    const whole = l => [0, layers[l].h, 0, layers[l].w, 0, layers[l].c];

    function asRegion(r, all) {
        const words = ["rows", "columns", "channels"], out = [];
        for (let k = 0; k < 3; k++)
            if (!all || r[2 * k] > all[2 * k] || r[2 * k + 1] < all[2 * k + 1])
                out.push(words[k] + " " + r[2 * k] + ":" + r[2 * k + 1]);
        return out.join(", ") || "all";
    }

    function asDims(l) {
        const x = layers[l];
        return x.h > 1 || x.w > 1 ? x.h + "\u00d7" + x.w + "\u00d7" + x.c : String(x.c);
    }

    const valueName = v => v < 0 ? "input " + data.inputs[-1 - v] : layers[v].name;
    const deviceName = d => letters[d] + " " + devices[d].name;

    /* --- steps by layer --- */

    /* A step's tasks: {layer, region, ns}. */
    function tasksOf(step) {
        const tasks = [];
        for (let i = 3; i < step.length; i += 8)
            tasks.push({layer: step[i], region: step.slice(i + 1, i + 7), ns: step[i + 7]});
        return tasks;
    }

    const messageOf = step => ({value: step[3], peer: step[4], bytes: step[5],
                                encoding: data.encodings[step[6]], tag: step[7],
                                region: step.slice(8, 14)});

    /* By turn and layer: {computed: [{device, region, ns, step}], received: [{device, ...}]}. */
    const byLayer = data.turns.map(programs => {
        const found = layers.map(() => ({computed: [], received: []}));
        programs.forEach((steps, device) => steps.forEach((step, number) => {
            if (step[0] === COMPUTE) {
                for (const task of tasksOf(step))
                    found[task.layer].computed.push(Object.assign({device, step: number}, task));
            } else if (step[0] !== SEND && step[3] >= 0) {
                found[step[3]].received.push(Object.assign({device, step: number}, messageOf(step)));
            }
        }));
        return found;
    });

    /* The send of each message, whose times are those of the message. */
    const sends = data.turns.map(programs => {
        const byTag = new Map();
        for (const steps of programs)
            for (const step of steps)
                if (step[0] === SEND)
                    byTag.set(step[7], step);
        return byTag;
    });

    /* --- elements --- */

    function make(name, attributes, ...children) {
        const e = document.createElement(name);
        for (const key in attributes)
            e.setAttribute(key, attributes[key]);
        e.append(...children);
        return e;
    }

    function draw(name, attributes, text) {
        const e = document.createElementNS(SVG, name);
        for (const key in attributes)
            e.setAttribute(key, attributes[key]);
        if (text !== undefined)
            e.textContent = text;
        return e;
    }

    const badge = d => make("span", {class: "badge b" + d % COLOURS}, letters[d]);
    const named = d => [badge(d), make("bdi", {}, devices[d].name)];

    function table(titles, rows) {
        const head = make("tr", {}, ...titles.map(t => make("th", {}, t)));
        const body = rows.map(row => make("tr", {}, ...row.map(
            (cell, i) => make(i ? "td" : "th", i ? {} : {scope: "row"}, ...[].concat(cell)))));
        return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
    }

    /* --- figures --- */

    /* What a device computes and has of a layer in a turn. */
    function shareOf(t, l, d) {
        const computed = byLayer[t][l].computed.filter(x => x.device === d);
        const received = byLayer[t][l].received.filter(x => x.device === d);
        return {
            computed, received,
            part: computed.reduce((sum, x) => sum + elements(x.region), 0) / elements(whole(l)),
            ns: computed.reduce((sum, x) => sum + x.ns, 0),
            bytes: received.reduce((sum, x) => sum + x.bytes, 0),
        };
    }

    const hull = regions => regions.reduce((a, r) => a.map(
        (x, k) => k % 2 ? Math.max(x, r[k]) : Math.min(x, r[k])));

    /* Regions in words; as one where they make up one. */
    function joined(list, l) {
        const regions = list.map(x => x.region);
        if (regions.length < 2)
            return regions.map(r => asRegion(r, whole(l))).join("");
        const all = hull(regions), sum = regions.reduce((n, r) => n + elements(r), 0);
        if (sum === elements(all))
            return asRegion(all, whole(l)) + " in " + regions.length + " parts";
        return regions.length > 4 ? regions.length + " parts of " + asRegion(all, whole(l))
                                  : regions.map(r => asRegion(r, whole(l))).join("; ");
    }

    /* What a device computes and others compute, too. */
    function twice(t, l, d) {
        const mine = byLayer[t][l].computed.filter(x => x.device === d).map(x => x.region);
        const found = [];
        devices.forEach((other, e) => {
            const theirs = byLayer[t][l].computed.filter(x => x.device === e).map(x => x.region);
            if (e === d || !mine.length || !theirs.length)
                return;
            const a = hull(mine), b = hull(theirs);
            const both = a.map((x, k) => k % 2 ? Math.min(x, b[k]) : Math.max(x, b[k]));
            if (both[0] < both[1] && both[2] < both[3] && both[4] < both[5])
                found.push(asRegion(both, whole(l)) + " (" + letters[e] + " computes it, too)");
        });
        return found;
    }

    function operator(l) {
        const x = layers[l], words = [x.type];
        if (x.window)
            words.push("window " + x.window[0] + "\u00d7" + x.window[1] + ", stride " +
                       x.window[2] + "\u00d7" + x.window[3]);
        if (x.window && (x.window[4] > 1 || x.window[5] > 1))
            words.push("dilation " + x.window[4] + "\u00d7" + x.window[5]);
        if (x.partial)
            words.push("partial sums of " + x.partial + " blocks of input channels");
        else if (x.groups)
            words.push(x.groups + " groups");
        if (x.winograd)
            words.push("Winograd F(" + x.winograd + "\u00d7" + x.winograd + ")");
        return words.join(", ");
    }

    function layerLines(t, l) {
        const lines = [(l + 1) + " " + layers[l].name, operator(l),
                       asDims(l) + (layers[l].macs ? ", " + asCount(layers[l].macs) + " MACs" : "")];
        devices.forEach((device, d) => {
            const share = shareOf(t, l, d);
            if (share.computed.length)
                lines.push(deviceName(d) + ": " + asPart(share.part) + " (" + joined(share.computed, l) + "), " + asTime(share.ns));
            const received = joined(share.received, l);
            const halo = (received ? [received] : []).concat(twice(t, l, d));
            if (halo.length)
                lines.push(letters[d] + " has also " + halo.join("; ") +
                           (share.bytes ? ", receives " + asBytes(share.bytes) : ""));
        });
        return lines;
    }

    function stepLines(t, d, number) {
        const step = data.turns[t][d][number], lines = [];
        if (step[0] === COMPUTE) {
            const tasks = tasksOf(step);
            lines.push(deviceName(d) + " computes");
            for (const task of tasks.slice(0, 6))
                lines.push(layers[task.layer].name + " (" + asRegion(task.region, whole(task.layer)) +
                           "), " + asTime(task.ns));
            if (tasks.length > 6)
                lines.push("and " + (tasks.length - 6) + " more");
        } else {
            const m = messageOf(step), all = m.value >= 0 ? whole(m.value) : null;
            lines.push(deviceName(d) + (step[0] === SEND ? " sends to " : " receives from ") +
                       deviceName(m.peer));
            lines.push(valueName(m.value) + " (" + asRegion(m.region, all) + "), " +
                       asBytes(m.bytes) + " as " + m.encoding);
        }
        lines.push(asTime(step[1]) + " to " + asTime(step[2]) + " (" + asTime(step[2] - step[1]) + ")");
        if (step[0] !== COMPUTE && step[0] !== SEND) {
            const send = sends[t].get(step[7]);
            if (send)
                lines.push("on the way from " + asTime(send[1]) + " to " + asTime(send[2]));
        }
        return lines;
    }

    function deviceLines(d) {
        const x = devices[d];
        const lines = [deviceName(d) + (x.source ? ", the source" : ""),
                       (x.board || "no board") + ", speed " + x.speed + ", " + x.threads + " threads",
                       asBytes(x.memory_bytes) + " of memory, of these " + asBytes(x.weight_bytes) +
                       " weights"];
        if (data.turns.length === 1)
            lines.push(asPart(x.share) + " of the MACs, busy for " + asTime(x.busy_ms * 1e6),
                       "sends " + asBytes(x.sent_bytes) + ", receives " + asBytes(x.received_bytes));
        return lines;
    }

    /* --- under the pointer --- */

    function turnOf(element) {
        const turn = element.closest("[data-t]");
        return turn ? Number(turn.dataset.t) : 0;
    }

    const deviceAt = bar => Number(bar.closest("[data-d]").dataset.d);

    function linesOf(element) {
        if (element.dataset.s !== undefined) {
            const lines = stepLines(turnOf(element), deviceAt(element), Number(element.dataset.s));
            if (element.dataset.f === undefined)
                return lines;
            return ["inference " + element.dataset.f].concat(lines.slice(0, -1)); /* times are others */
        }
        if (element.dataset.l !== undefined)
            return layerLines(turnOf(element), Number(element.dataset.l));
        return deviceLines(Number(element.dataset.d));
    }

    const target = node => node instanceof Element &&
        node.closest("[data-s], [data-l], button[data-d], tr[data-d]");

    function showTip(element, x, y) {
        tip.replaceChildren(...linesOf(element).map(line => make("div", {}, line)));
        tip.hidden = false;
        const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
        const top = y + 18 + tip.offsetHeight < innerHeight ? y + 18 : y - tip.offsetHeight - 12;
        tip.style.left = Math.max(4, left) + "px";
        tip.style.top = Math.max(4, top) + "px";
    }

    function hideTip() {
        tip.hidden = true;
    }

    function tipBeside(element) {
        const box = element.getBoundingClientRect();
        showTip(element, Math.max(0, box.left), Math.min(box.bottom - 12, innerHeight - 20));
    }

    document.addEventListener("pointermove", event => {
        const element = event.pointerType === "mouse" && target(event.target);
        if (element)
            showTip(element, event.clientX, event.clientY);
        else if (event.pointerType === "mouse")
            hideTip();
    });
    document.addEventListener("focusin", event => {
        const element = target(event.target);
        if (element && element === event.target && element.matches(":focus-visible"))
            tipBeside(element);
        else
            hideTip();
    });
    document.addEventListener("focusout", hideTip);
    document.addEventListener("scroll", hideTip, true);

    /* --- what is chosen --- */

    function unmark() {
        for (const e of document.querySelectorAll(".sel, .dim"))
            e.classList.remove("sel", "dim");
    }

    function closePanel() {
        panel.hidden = true;
        unmark();
    }

    function showPanel(title, ...parts) {
        const close = make("button", {type: "button", class: "close", "aria-label": "Close"}, "\u00d7");
        close.addEventListener("click", closePanel);
        panel.replaceChildren(make("h2", {}, ...[].concat(title)), close, ...parts);
        panel.scrollTop = 0;
        panel.hidden = false;
        hideTip();
    }

    /* Marks layers, and the bars of their tasks and messages; the others become pale. */
    function mark(t, chosen, only) {
        unmark();
        const section = document.querySelector('.turn[data-t="' + t + '"]');
        for (const e of section.querySelectorAll("[data-l]"))
            if (chosen.has(Number(e.dataset.l)))
                e.classList.add("sel");
        for (const lane of section.querySelectorAll(".timeline .lane")) {
            const steps = data.turns[t][Number(lane.dataset.d)];
            for (const e of lane.querySelectorAll("[data-s]")) {
                const step = steps[Number(e.dataset.s)];
                const its = only ? e === only : step[0] === COMPUTE ?
                    tasksOf(step).some(task => chosen.has(task.layer)) : chosen.has(step[3]);
                e.classList.add(its ? "sel" : "dim");
            }
        }
    }

    function reveal(t, l) {
        const card = document.getElementById("t" + t + "l" + l);
        card.closest("details").open = true;
        card.scrollIntoView({block: "nearest"});
        rove(card);
    }

    /* A device's part of a map: own solid, what it has beside it hatched. */
    function piece(t, l, d) {
        const x = layers[l], bar = x.h === 1 && x.w === 1, size = 84;
        const longest = Math.max(x.h, x.w), share = shareOf(t, l, d);
        const width = bar ? size : Math.max(10, size * x.w / longest);
        const height = bar ? 14 : Math.max(10, size * x.h / longest);
        const svg = draw("svg", {width: width + 2, height: height + 12, role: "img",
                                 "aria-label": deviceName(d)});
        svg.append(draw("rect", {class: "whole", x: 1, y: 1, width, height}));
        function put(r, name) {
            const along = bar ? [0, 1, r[4] / x.c, r[5] / x.c] :
                                [r[0] / x.h, r[1] / x.h, r[2] / x.w, r[3] / x.w];
            svg.append(draw("rect", {class: name + d % COLOURS, x: 1 + width * along[2],
                                     y: 1 + height * along[0],
                                     width: Math.max(2, width * (along[3] - along[2])),
                                     height: Math.max(2, height * (along[1] - along[0]))}));
            if (!bar && r[5] - r[4] < x.c) /* the channels, as a line beneath */
                svg.append(draw("rect", {class: "c" + d % COLOURS, x: 1 + width * r[4] / x.c,
                                         y: height + 4, height: 5,
                                         width: Math.max(2, width * (r[5] - r[4]) / x.c)}));
        }
        for (const one of share.computed)
            put(one.region, "part c");
        for (const one of share.received)
            put(one.region, "halo h");
        return make("div", {}, ...named(d), svg);
    }

    function chooseLayer(t, l) {
        const rows = [], pieces = [];
        devices.forEach((device, d) => {
            const share = shareOf(t, l, d);
            if (!share.computed.length && !share.received.length)
                return;
            const received = joined(share.received, l);
            const halo = (received ? [received] : []).concat(twice(t, l, d)).join("; ");
            rows.push([named(d), joined(share.computed, l) || "\u2013",
                       share.ns ? asTime(share.ns) : "\u2013", halo || "\u2013",
                       share.bytes ? asBytes(share.bytes) : "\u2013"]);
            pieces.push(piece(t, l, d));
        });
        const x = layers[l];
        mark(t, new Set([l]));
        showPanel((l + 1) + " " + x.name,
            make("p", {}, operator(l)),
            make("p", {}, asDims(l) + (x.macs ? ", " + asCount(x.macs) + " MACs" : "") +
                 (x.reads.length ? "; reads " + x.reads.map(valueName).join(", ") : "")),
            make("div", {class: "pieces"}, ...pieces),
            make("div", {class: "scroll"},
                 table(["device", "computes", "in", "has also (halo)", "received"], rows)));
        reveal(t, l);
    }

    function chooseStep(bar) {
        const t = turnOf(bar), d = deviceAt(bar), number = Number(bar.dataset.s);
        const step = data.turns[t][d][number];
        const chosen = step[0] === COMPUTE ? tasksOf(step).map(task => task.layer) : [step[3]];
        mark(t, new Set(chosen), bar);
        const lines = stepLines(t, d, number), what = lines[0].slice(deviceName(d).length);
        const parts = lines.slice(step[0] === COMPUTE ? lines.length - 1 : 1);
        const links = [...new Set(chosen)].filter(l => l >= 0).map(l => {
            const button = make("button", {type: "button"}, (l + 1) + " " + layers[l].name);
            button.addEventListener("click", () => chooseLayer(t, l));
            return button;
        });
        const rows = step[0] === COMPUTE ? tasksOf(step).map(
            task => [(task.layer + 1) + " " + layers[task.layer].name,
                     asRegion(task.region, whole(task.layer)), asTime(task.ns)]) : [];
        showPanel([...named(d), " step " + number + what],
            ...parts.map(line => make("p", {}, line)),
            ...(rows.length ? [make("div", {class: "scroll"}, table(["layer", "region", "takes"], rows))] : []),
            make("div", {class: "tools"}, ...links));
    }

    function chooseDevice(d) {
        const x = devices[d], links = data.turns.length === 1 ? data.plan.links : [];
        unmark();
        const rows = links.filter(k => k.from === x.name || k.to === x.name).map(
            k => [k.from + " \u2192 " + k.to, String(k.messages), asBytes(k.bytes), k.encoding]);
        showPanel(named(d), ...deviceLines(d).slice(1).map(line => make("p", {}, line)),
            ...(rows.length ? [make("div", {class: "scroll"}, table(["link", "messages", "bytes", "as"], rows))] : []));
    }

    function choose(element) {
        if (element.dataset.s !== undefined)
            chooseStep(element);
        else if (element.dataset.l !== undefined)
            chooseLayer(turnOf(element), Number(element.dataset.l));
        else
            chooseDevice(Number(element.dataset.d));
    }

    document.addEventListener("click", event => {
        const element = target(event.target);
        if (element)
            choose(element);
    });

    /* --- keyboard: one layer of a turn can be reached by Tab, arrows go on from there --- */

    function rove(card) {
        for (const e of card.closest(".turn").querySelectorAll('.layer[tabindex="0"]'))
            e.tabIndex = -1;
        card.tabIndex = 0;
    }

    function moveInMaps(card, key) {
        const cards = [...card.closest(".turn").querySelectorAll(".layer")].filter(
            e => e.closest("details").open);
        const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[key];
        const at = key === "Home" ? 0 : key === "End" ? cards.length - 1 : cards.indexOf(card) + step;
        const next = cards[Math.max(0, Math.min(cards.length - 1, at))];
        rove(next);
        next.focus();
    }

    function moveInLane(lane, key) {
        const bars = [...lane.querySelectorAll("[data-s]")];
        const old = bars.findIndex(e => e.classList.contains("at"));
        const step = {ArrowRight: 1, ArrowLeft: -1}[key];
        const at = key === "Home" ? 0 : key === "End" ? bars.length - 1 : old + step;
        if (old >= 0)
            bars[old].classList.remove("at");
        const next = bars[Math.max(0, Math.min(bars.length - 1, at))];
        if (!next)
            return;
        next.classList.add("at");
        const view = lane.closest(".scroll"), box = next.getBoundingClientRect();
        const room = view.getBoundingClientRect();
        if (box.left < room.left || box.right > room.right)
            view.scrollLeft += box.left - room.left - room.width / 3;
        requestAnimationFrame(() => tipBeside(next));
    }

    const MOVES = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];

    document.addEventListener("keydown", event => {
        const e = event.target, act = event.key === "Enter" || event.key === " ";
        if (event.key === "Escape" && !panel.hidden) {
            closePanel();
        } else if (e.classList.contains("layer") && (act || MOVES.includes(event.key))) {
            event.preventDefault();
            if (act)
                choose(e);
            else
                moveInMaps(e, event.key);
        } else if (e.classList.contains("lane") && (act || MOVES.includes(event.key))) {
            const at = e.querySelector(".at");
            if (act && at)
                choose(at);
            else if (!act && event.key !== "ArrowUp" && event.key !== "ArrowDown")
                moveInLane(e, event.key);
            else
                return;
            event.preventDefault();
        }
    });

    /* --- the timeline: zoom, ticks, names in bars --- */

    const MOST_ZOOM = 200, LETTER = 5.6;

    function putTicks(svg, width) {
        const end = Number(svg.dataset.end), axis = svg.querySelector(".axis");
        const y = Number(svg.getAttribute("height")) - 22;
        let step = 1;
        for (let k = 0; step / end * width < 70; k++)
            step = [1, 2, 5][k % 3] * Math.pow(10, Math.floor(k / 3));
        axis.replaceChildren();
        for (let time = 0; time < end; time += step) {
            const x = 100 * time / end + "%";
            axis.append(draw("line", {x1: x, x2: x, y1: 0, y2: y + 4}));
            if (time < end - step / 2)
                axis.append(draw("text", {x, y: y + 14, dx: 3}, time ? asTime(time) : "0"));
        }
    }

    function putNames(svg, width) {
        const t = turnOf(svg), end = Number(svg.dataset.end);
        for (const lane of svg.querySelectorAll(".lane")) {
            const steps = data.turns[t][Number(lane.dataset.d)];
            for (const e of lane.querySelectorAll("text"))
                e.remove();
            const y = Number(lane.firstElementChild.getAttribute("y")) + 15.5;
            for (const step of steps) {
                const room = Math.floor((step[2] - step[1]) / end * width / LETTER) - 1;
                if (step[0] !== COMPUTE || room < 2)
                    continue;
                const tasks = tasksOf(step), name = layers[tasks[0].layer].name +
                    (tasks.length > 1 ? " \u2026 " + (tasks[tasks.length - 1].layer + 1) : "");
                const text = name.length <= room ? name : String(tasks[0].layer + 1);
                if (text.length <= room)
                    lane.append(draw("text", {x: 50 * (step[1] + step[2]) / end + "%", y}, text));
            }
        }
    }

    function readyTimeline(svg) {
        const view = svg.parentElement, time = view.parentElement;
        let zoom = 1;
        function layOut() {
            const width = view.clientWidth * zoom;
            if (width > 0) {
                putTicks(svg, width);
                putNames(svg, width);
            }
        }
        /* What is at `x` of the view stays there. */
        function zoomTo(next, x) {
            const at = (view.scrollLeft + x) / zoom;
            zoom = Math.max(1, Math.min(MOST_ZOOM, next));
            svg.style.width = 100 * zoom + "%";
            view.scrollLeft = at * zoom - x;
            layOut();
        }
        const button = (text, label, next) => {
            const b = make("button", {type: "button", "aria-label": label, title: label}, text);
            b.addEventListener("click", () => zoomTo(next(), view.clientWidth / 2));
            return b;
        };
        time.before(make("div", {class: "tools"},
            button("+", "Zoom in", () => zoom * 2), button("\u2212", "Zoom out", () => zoom / 2),
            button("Fit", "Show all of the time", () => 1)));
        view.addEventListener("wheel", event => {
            if (!event.ctrlKey && !event.metaKey)
                return;
            event.preventDefault();
            zoomTo(zoom * Math.exp(-event.deltaY / 200), event.clientX - view.getBoundingClientRect().left);
        }, {passive: false});
        for (const lane of svg.querySelectorAll(".lane")) {
            lane.setAttribute("tabindex", "0");
            lane.setAttribute("role", "group");
            lane.setAttribute("aria-label", devices[Number(lane.dataset.d)].name +
                              ": arrow keys go from step to step");
        }
        new ResizeObserver(layOut).observe(view);
    }

    /* --- what is there from the start --- */

    function readyMaps(section) {
        const t = Number(section.dataset.t), stages = section.querySelector(".stages");
        const fold = (text, open) => {
            const b = make("button", {type: "button"}, text);
            b.addEventListener("click", () => {
                for (const e of stages.querySelectorAll("details"))
                    e.open = open;
            });
            return b;
        };
        stages.before(make("div", {class: "tools"}, fold("Unfold all", true), fold("Fold all", false)));
        for (const card of stages.querySelectorAll(".layer")) {
            const l = Number(card.dataset.l), title = card.querySelector("title");
            card.setAttribute("role", "button");
            card.setAttribute("aria-label", (l + 1) + " " + layers[l].name + ", " + layers[l].type +
                              ", " + asDims(l) + ": " + title.textContent);
            card.tabIndex = l ? -1 : 0;
            title.remove();
        }
        for (const title of section.querySelectorAll(".overview title"))
            title.remove(); /* the figures are beside the pointer */
        section.querySelector(".overview").dataset.t = t;
    }

    document.documentElement.classList.add("live");
    panel.setAttribute("role", "region");
    panel.setAttribute("aria-label", "Figures");
    document.querySelectorAll(".turn").forEach(readyMaps);
    document.querySelectorAll(".timeline").forEach(readyTimeline);
}());
