// ONNX Runtime as a competitor of bench/head-to-head: competitor.c has the protocol. Wants the npm packages
// onnxruntime-node and onnxruntime-common in NODE_PATH.
'use strict';
const fs = require('fs');
const readline = require('readline');

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
    const bytes = fs.readFileSync(env.COMPETITOR_INPUT);
    const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', data, env.COMPETITOR_SHAPE.split('x').map(Number))};
    const answer = (await session.run(feeds))[session.outputNames[0]].data;
    fs.writeFileSync(env.COMPETITOR_OUTPUT, Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength));
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
