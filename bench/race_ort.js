// ONNX Runtime as a rival of bench/race: race_rival.c has the protocol. Wants the npm packages
// onnxruntime-node and onnxruntime-common in NODE_PATH.
'use strict';
const fs = require('fs');
const readline = require('readline');

async function main() {
    const ort = require('onnxruntime-node');
    const env = process.env;
    const threads = Number(env.RACE_THREADS);
    const session = await ort.InferenceSession.create(env.RACE_MODEL, {
        executionProviders: ['cpu'],
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        enableProfiling: Boolean(env.RACE_PROFILE),
        profileFilePrefix: env.RACE_PROFILE || 'race',
    });
    const bytes = fs.readFileSync(env.RACE_INPUT);
    const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', data, env.RACE_SHAPE.split('x').map(Number))};
    const answer = (await session.run(feeds))[session.outputNames[0]].data;
    fs.writeFileSync(env.RACE_OUTPUT, Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength));
    process.stdout.write('ready\n');
    for await (const line of readline.createInterface({input: process.stdin})) {
        const cpu = process.cpuUsage();
        const begin = process.hrtime.bigint();
        await session.run(feeds);
        const wall = process.hrtime.bigint() - begin;
        const used = process.cpuUsage(cpu);
        process.stdout.write(`${wall} ${(used.user + used.system) * 1000}\n`);
    }
    if (env.RACE_PROFILE)
        session.endProfiling();
}

main().catch((error) => {
    process.stdout.write(`${String(error.message || error).split('\n')[0]}\n`);
    process.exit(1);
});
