"""The Python package against libadaps, by unittest: check_package.py SEVERAL MODELS [DEVICES].

SEVERAL: a model of `small_model several`; MODELS: the folder of models; DEVICES: agents that run."""
import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import unittest

import numpy as np

import adaps

SEVERAL, MODELS = sys.argv[1:3]
DEVICES = sys.argv[3] if len(sys.argv) > 3 else None
DIGITS = os.path.join(MODELS, "digits.onnx")
DENOISE = os.path.join(MODELS, "denoise.onnx")


def digit(seed):
    return np.random.default_rng(seed).random((1, 1, 28, 28), np.float32)


class Sessions(unittest.TestCase):
    def test_infos(self):
        with adaps.Session(SEVERAL) as session:
            self.assertEqual([info.name for info in session.inputs], ["levels", "vector", "scalar"])
            self.assertEqual([info.shape for info in session.outputs], [(1, 3, 4, 4), (1, 5), ()])
            self.assertEqual(session.inputs[1].dtype, np.dtype(np.float32))
            self.assertFalse(session.inputs[1].open)
            self.assertGreater(session.predicted, 0)

    def test_places_and_names(self):
        levels = np.arange(48, dtype=np.uint8).reshape(1, 3, 4, 4)
        vector, scalar = np.array([[1, 2, 3, 4, 5]], np.float32), np.float32(2.5)
        with adaps.Session(SEVERAL) as session:
            by_place = session.run(levels, vector, scalar)
            by_name = session.run({"scalar": scalar, "levels": levels, "vector": vector[0]})
            for answer in by_place, by_name, session.run((levels, vector, scalar)):
                self.assertEqual(list(answer), ["levels_out", "vector_out", "scalar_out"])
                np.testing.assert_array_equal(answer["levels_out"], levels)
                np.testing.assert_array_equal(answer["vector_out"], vector)
                self.assertEqual(answer["scalar_out"].shape, ())
                self.assertEqual(float(answer["scalar_out"]), 2.5)

    def test_other_arrays(self):
        """Types that libadaps does not have, an order that is not C's, another byte order, lists."""
        good = [1.0, -2.5, 3.0, 0.0, 1e-3]
        exact = np.array([good], np.float32)
        levels, scalar = np.zeros((1, 3, 4, 4), np.uint8), 0.0
        strided = np.zeros((5, 2), np.float32)
        strided[:, 0] = exact[0]
        with adaps.Session(SEVERAL) as session:
            for vector in (exact.astype(np.float64), exact.astype(">f4"), strided[:, 0], [[1.0, -2.5, 3, 0, float(exact[0, 4])]]):
                np.testing.assert_array_equal(session.run(levels, vector, scalar)["vector_out"], exact)
            for vector in (np.float64([good]), np.array([["a"] * 5]), np.array([[1j] * 5]),
                           np.uint32([[2 ** 24 + 1] * 5]), np.int64([[2 ** 24 + 1] * 5])):
                with self.assertRaises(adaps.InputError):
                    session.run(levels, vector, scalar)

    def test_errors(self):
        with adaps.Session(SEVERAL) as session:
            with self.assertRaisesRegex(adaps.UsageError, "2 inputs: the network has 3"):
                session.run(1.0, 2.0)
            with self.assertRaisesRegex(adaps.UsageError, "no input 'film'"):
                session.run({"film": 1.0})
            with self.assertRaisesRegex(adaps.InputError, "has shape 1x4"):
                session.run(np.zeros((1, 3, 4, 4)), np.zeros((1, 4)), 0.0)
        with self.assertRaisesRegex(adaps.UsageError, "the session is closed"):
            session.run(0.0)
        with self.assertRaises(adaps.InputError):
            adaps.Session("/nowhere.onnx")
        with self.assertRaises(adaps.UsageError):
            adaps.plan(DIGITS, strategy="best")
        with self.assertRaises(adaps.UsageError):
            adaps.Session(DIGITS, threads=1000)
        for kind in (adaps.Infeasible, adaps.UsageError, adaps.InputError, adaps.AgentError, adaps.InternalError,
                     adaps.Cancelled):
            self.assertTrue(issubclass(kind, adaps.Error))

    def test_answers_outlive_the_session(self):
        with adaps.Session(DIGITS) as session:
            first, again = session.run(digit(1)), session.run(digit(1))
            other = session.run(digit(2))
        kept = first.copy()
        del session
        gc.collect()
        np.testing.assert_array_equal(first, again)
        self.assertFalse(np.array_equal(first, other))
        part = first[:, 3:]  # keeps the memory by itself
        del first, again, other
        gc.collect()
        np.testing.assert_array_equal(part, kept[:, 3:])

    def test_no_copies(self):
        """The memory of an answer is the result's, and that of an input the caller's."""
        from adaps import _tensors
        with adaps.Session(DIGITS) as session:
            x = digit(3)
            tensors, count, kept = _tensors.take(session.inputs, x)
            self.assertEqual(count, 1)
            self.assertEqual(tensors[0].data, x.ctypes.data)
            self.assertIs(kept[0], x)
            answer = session.run(x)
            owner = answer
            while isinstance(owner, np.ndarray):
                owner = owner.base
            self.assertFalse(answer.flags.owndata)
            self.assertIsInstance(getattr(owner, "obj", owner).owner, _tensors._Owner)

    def test_threads(self):
        """Several threads share a session."""
        expected, wrong = {}, []
        with adaps.Session(DIGITS) as session:
            for seed in range(4):
                expected[seed] = session.run(digit(seed))

            def work(seed):
                for _ in range(20):
                    if not np.array_equal(session.run(digit(seed)), expected[seed]):
                        wrong.append(seed)
            threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


class Plans(unittest.TestCase):
    def test_plan(self):
        told = []
        plan = adaps.plan(DIGITS, progress=lambda *what: told.append(what))
        self.assertEqual(told, [("plan", 1, 3), ("plan", 2, 3), ("plan", 3, 3)])
        self.assertEqual(plan.inputs[0].shape, (1, 1, 28, 28))
        self.assertGreater(plan.predicted, 0)
        plan.save("digits.plan")
        loaded = adaps.Plan.load("digits.plan")
        self.assertEqual(loaded.predicted, plan.predicted)
        answers = []
        with open(DIGITS, "rb") as file:
            in_memory = adaps.plan(file.read())
        for source in (plan, loaded, "digits.plan", in_memory, DIGITS):
            with adaps.Session(source, model=DIGITS) as session:
                answers.append(session.run(digit(5)))
        for answer in answers[1:]:
            np.testing.assert_array_equal(answer, answers[0])

    def test_logging(self):
        with self.assertLogs("adaps", logging.INFO) as logs:
            adaps.plan(DIGITS)
        self.assertRegex(logs.output[0], "INFO:adaps:.*digits.onnx: planned by strategy")


class Streams(unittest.TestCase):
    def test_for(self):
        with adaps.Session(DIGITS) as session:
            expected = [session.run(digit(seed)) for seed in range(12)]
            for in_flight in 1, 3, 8:
                taken = list(session.stream((digit(seed) for seed in range(12)), in_flight))
                self.assertEqual([number for number, _ in taken], list(range(12)))
                for number, answer in taken:
                    np.testing.assert_array_equal(answer, expected[number])
            for number, _ in session.stream(digit(seed) for seed in range(12)):
                if number == 2:
                    break  # which ends the stream
            session.run(digit(0))

    def test_async_for(self):
        async def frames():
            for seed in range(12):
                await asyncio.sleep(0)
                yield digit(seed)

        async def collect(source):
            return [pair async for pair in session.stream(source)]

        async def leave():
            async for number, _ in session.stream(frames()):
                if number == 1:
                    break

        with adaps.Session(DIGITS) as session:
            expected = [session.run(digit(seed)) for seed in range(12)]
            for source in (frames(), (digit(seed) for seed in range(12))):
                taken = asyncio.run(collect(source))
                self.assertEqual([number for number, _ in taken], list(range(12)))
                for number, answer in taken:
                    np.testing.assert_array_equal(answer, expected[number])
            asyncio.run(leave())
            self.assertEqual(asyncio.run(collect([])), [])
            with self.assertRaises(adaps.UsageError):
                list(session.stream(frames()))
            session.run(digit(0))

    def test_answers_before_the_next_frame(self):
        """The source waits for the answer to its frame before it has another one."""
        answered = []

        async def talk():
            heard = asyncio.Event()

            async def frames():
                for seed in range(3):
                    yield digit(seed)
                    await heard.wait()
                    heard.clear()
            async for number, _ in session.stream(frames()):
                answered.append(number)
                heard.set()

        with adaps.Session(DIGITS) as session:
            asyncio.run(talk())
        self.assertEqual(answered, [0, 1, 2])

    def test_by_hand(self):
        with adaps.Session(DIGITS) as session, session.open_stream(2) as stream:
            self.assertIsNone(stream.result())
            self.assertIsNone(stream.result(0))
            self.assertEqual(stream.submit(digit(0)), 0)
            self.assertEqual(stream.submit(digit(1), tag=77), 77)
            self.assertEqual(stream.pending, 2)
            self.assertEqual([stream.result()[0], stream.result()[0]], [0, 77])
            with self.assertRaises(adaps.InputError):
                stream.submit(np.zeros(3))
            self.assertEqual(stream.pending, 0)
            with self.assertRaisesRegex(adaps.UsageError, "a stream is open"):
                session.run(digit(0))


class Ends(unittest.TestCase):
    def test_cancel(self):
        """Until one is hit: between two inferences it has no effect."""
        ended = threading.Event()

        def cancel():
            while not ended.wait(0.001):
                session.cancel()
        with adaps.Session(DENOISE, threads=1) as session:
            x = np.zeros(session.inputs[0].shape, np.float32)
            thread = threading.Thread(target=cancel)
            thread.start()
            with self.assertRaises(adaps.Cancelled):
                for _ in range(1000):
                    session.run(x)
            ended.set()
            thread.join()
            session.run(x)
            with session.open_stream() as stream:
                tags = []
                while not tags:  # on a busy machine both may be answered before
                    numbers = [stream.submit(x), stream.submit(x)]
                    session.cancel()
                    while stream.pending > 0:
                        try:
                            stream.result()
                        except adaps.Cancelled as error:
                            tags.append(error.tag)
                self.assertEqual(tags, numbers[-len(tags):])

    def test_keyboard(self):
        """Ctrl-C while the library computes; programs in the background of a shell ignore it at first."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with adaps.Session(DENOISE, threads=1) as session:
            x = np.zeros(session.inputs[0].shape, np.float32)
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(1000):
                    session.run(x)
            session.run(x)
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                for _ in session.stream(x for _ in range(1000)):
                    pass
            session.run(x)


@unittest.skipIf(DEVICES is None, "no agents")
class Agents(unittest.TestCase):
    def test_agents(self):
        with adaps.Session(DENOISE) as here:
            x = np.random.default_rng(1).random(here.inputs[0].shape, np.float32)
            expected = here.run(x)
        told = []
        with self.assertLogs("adaps", logging.INFO) as logs:
            session = adaps.Session(DENOISE, devices=DEVICES, strategy="edgeflow", deadline=60,
                                    progress=lambda *what: told.append(what))
        with session:
            self.assertRegex("\n".join(logs.output), "pushed [1-9][0-9]* bytes of weights")
            self.assertEqual(told[-1][0], "push")
            self.assertEqual(told[-1][1], told[-1][2])
            np.testing.assert_array_equal(session.run(x), expected)
            for _, answer in session.stream(x for _ in range(6)):
                np.testing.assert_array_equal(answer, expected)
            self.assertEqual(session.recoveries, 0)

    def test_that_adapts(self):
        with adaps.Session(DENOISE) as here:
            x = np.random.default_rng(1).random(here.inputs[0].shape, np.float32)
            expected = here.run(x)
        told = []
        with adaps.Session(DENOISE, devices=DEVICES, strategy="edgeflow", deadline=60, adapt=told.append,
                           horizon=1000000) as session:
            for _, answer in session.stream(x for _ in range(30)):
                np.testing.assert_array_equal(answer, expected)
        for one in told:  # whether there are any depends on the machine
            self.assertIsInstance(one, adaps.Adaptation)
            self.assertGreater(one.factor, 0)
            self.assertEqual(one.left, 1000000)
        with self.assertRaisesRegex(adaps.UsageError, "horizon 5"):
            adaps.Session(DENOISE, devices=DEVICES, horizon=5)

    def test_no_agent(self):
        with open("nobody.conf", "w", encoding="utf-8") as file:
            file.write("[a]\nboard = x86\naddress = tcp://127.0.0.1:1\n")
        with self.assertRaisesRegex(adaps.AgentError, "agent 'a'"):
            adaps.Session(DIGITS, devices="nobody.conf", deadline=2)


class Import(unittest.TestCase):
    def test_no_library(self):
        import subprocess
        environment = {**os.environ, "ADAPS_LIBRARY": "libnowhere.so.9"}
        done = subprocess.run([sys.executable, "-c", "import adaps"], env=environment, stderr=subprocess.PIPE, text=True,
                              check=False)
        self.assertIn("ImportError: the library libnowhere.so.9 cannot be used", done.stderr)

    def test_version(self):
        self.assertRegex(adaps.__version__, r"^\d+\.\d+\.\d+$")

    def test_structs(self):
        """Those of adaps.h, field by field; sizes are checked by the library."""
        import re
        from adaps import _library
        with open(os.path.join(MODELS, "../src/adaps.h"), encoding="utf-8") as file:
            header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for name, ours in (("tensor_info", _library.TensorInfo), ("tensor", _library.Tensor),
                           ("plan_options", _library.PlanOptions), ("session_options", _library.SessionOptions),
                           ("stream_options", _library.StreamOptions)):
            body = re.search(rf"struct adaps_{name} {{(.*?)}};", header, re.S)[1]
            fields = re.findall(r"(\w+)(?:\[\w+\])?;", body)
            self.assertEqual([field[0] for field in ours._fields_], fields, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
