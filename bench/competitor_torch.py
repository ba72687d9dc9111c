"""PyTorch as a competitor of bench/head-to-head: competitor.c has the protocol. The network is the module of that
name of models/zoo (tests/interop has them), with the file's weights, optimised for inference."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "interop"))


def main():
    import numpy as np
    import torch
    import zoo_check

    name = os.path.splitext(os.path.basename(os.environ["COMPETITOR_MODEL"]))[0]
    torch.set_num_threads(int(os.environ["COMPETITOR_THREADS"]))
    if name not in zoo_check.NETS:
        raise SystemExit(f"no module '{name}'")
    if "," in os.environ["COMPETITOR_SHAPE"]:
        raise SystemExit("modules of the zoo have one input")
    net, answer = zoo_check.module(name)
    zoo_check.load(net, zoo_check.check_file(os.environ["COMPETITOR_MODEL"]), name)
    if answer is not net:
        net.forward = answer
    shape = [int(d) for d in os.environ["COMPETITOR_SHAPE"].split("x")]
    x = torch.from_numpy(np.fromfile(os.environ["COMPETITOR_INPUT"], np.float32).reshape(shape))
    with torch.no_grad():
        net = torch.jit.optimize_for_inference(torch.jit.trace(net, x))
        for _ in range(3):  # the first two are compiled
            y = net(x)
        with open(os.environ["COMPETITOR_OUTPUT"], "wb") as file:
            for output in y if isinstance(y, (tuple, list)) else [y]:
                output.numpy().astype(np.float32).tofile(file)
        print("ready", flush=True)
        for _ in sys.stdin:
            cpu, wall = time.process_time_ns(), time.perf_counter_ns()
            net(x)
            wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
            print(wall, cpu, flush=True)


try:
    main()
except (Exception, SystemExit) as error:  # the last line says why
    print(str(error).splitlines()[0], flush=True)
    sys.exit(1)
