// ONNX Runtime as a competitor of bench/head-to-head: competitor.c has the protocol. Wants the npm packages
// onnxruntime-node and onnxruntime-common in NODE_PATH.
'use strict';
const fs = require('fs');
const readline = require('readline');

// Numbers of other types than float32, from and to float32. Halves that are given are not denormal.
const HALF = {
    from: (x) => {
        const bits = new Uint32Array(new Float32Array([x]).buffer)[0];
        return x === 0 ? 0 : (bits >>> 16 & 0x8000) | ((bits >>> 23 & 255) - 112) << 10 | bits >>> 13 & 0x3ff;
    },
    to: (h) => {
        const exponent = h >>> 10 & 31, fraction = h & 0x3ff, sign = h & 0x8000 ? -1 : 1;
        if (exponent === 31)
            return fraction ? NaN : sign * Infinity;
        return sign * (exponent ? 1024 + fraction : fraction) * 2 ** (Math.max(exponent, 1) - 25);
    },
};
const ARRAYS = {
    float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array, int32: Int32Array,
    int16: Int16Array, int8: Int8Array, uint16: Uint16Array, uint8: Uint8Array,
};

function makeTensor(ort, type, numbers, dims) {
    const array = ARRAYS[type];
    if (!array)
        throw new Error(`an input of type ${type}`);
    const of = type === 'int64' ? BigInt : type === 'float16' ? HALF.from : Number;
    return new ort.Tensor(type, array.from(numbers, (x) => of(x)), dims);
}

// The inputs that are asked for, in the order of the model.
function readFeeds(ort, session) {
    const bytes = fs.readFileSync(process.env.COMPETITOR_INPUT);
    const shapes = (process.env.COMPETITOR_SHAPE || '').split(',');
    const feeds = {};
    let offset = bytes.byteOffset;
    session.inputNames.forEach((name, i) => {
        const dims = shapes[i] === 'scalar' ? [] : shapes[i].split('x').map(Number);
        const count = dims.reduce((a, b) => a * b, 1);
        const numbers = new Float32Array(bytes.buffer.slice(offset, offset + 4 * count));
        feeds[name] = makeTensor(ort, session.inputMetadata[i].type, numbers, dims);
        offset += 4 * count;
    });
    return feeds;
}

function writeAnswer(session, answer) {
    const parts = session.outputNames.map((name) => {
        const {data, type} = answer[name];
        if (type === 'float32')
            return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
        const half = type === 'float16' && data instanceof Uint16Array;
        return Buffer.from(Float32Array.from(data, half ? HALF.to : Number).buffer);
    });
    fs.writeFileSync(process.env.COMPETITOR_OUTPUT, Buffer.concat(parts));
}

async function main() {
    const ort = require('onnxruntime-node');
    const env = process.env;
    const threads = Number(env.COMPETITOR_THREADS);
    const session = await ort.InferenceSession.create(env.COMPETITOR_MODEL, {
        executionProviders: ['cpu'],
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        enableProfiling: Boolean(env.COMPETITOR_PROFILE),
        profileFilePrefix: env.COMPETITOR_PROFILE || 'adaps',
    });
    const feeds = readFeeds(ort, session);
    writeAnswer(session, await session.run(feeds));
    process.stdout.write('ready\n');
    for await (const line of readline.createInterface({input: process.stdin})) {
        const cpu = process.cpuUsage();
        const begin = process.hrtime.bigint();
        await session.run(feeds);
        const wall = process.hrtime.bigint() - begin;
        const used = process.cpuUsage(cpu);
        process.stdout.write(`${wall} ${(used.user + used.system) * 1000}\n`);
    }
    if (env.COMPETITOR_PROFILE)
        session.endProfiling();
}

main().catch((error) => {
    process.stdout.write(`${String(error.message || error).split('\n')[0]}\n`);
    process.exit(1);
});
