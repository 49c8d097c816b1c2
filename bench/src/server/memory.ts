import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { macrotask } from '../floor.ts';
import { type StreamServer, startBareServer, startMillraceServer } from './servers.ts';
import { Viewers } from './viewers.ts';

/** Measures the memory of idle viewers, and of stalled viewers that do not read. */
export async function compareMemory(): Promise<void> {
  await using our = await startMillraceServer();
  await using plain = await startBareServer();
  const ourBytes = await perIdleViewer(our, 'item_started');
  const bareBytes = await perIdleViewer(plain, 'hello');
  console.log(
    `memory of an idle viewer: ${kib(ourBytes)}, bare node:http ${kib(bareBytes)}: ${(ourBytes / bareBytes).toFixed(2)} × it`,
  );
  await stalled();
}

async function perIdleViewer({ port, path }: StreamServer, mark: string): Promise<number> {
  const count = 1_000;
  await using viewers = await Viewers.start(port, count);
  // The first connections also allocate memory that is reused later.
  await viewers.connect(path, mark);
  await viewers.disconnect();
  const before = await usedMemory();
  await viewers.connect(path, mark);
  const bytes = (await usedMemory()) - before;
  await viewers.disconnect();
  return bytes / count;
}

async function stalled(): Promise<void> {
  const count = 200;
  await using our = await startMillraceServer({
    mergeMs: 0,
    maxLagRecords: 1e9,
    maxLagBytes: 1e12,
  });
  await using viewers = await Viewers.start(our.port, count);
  await viewers.connect(our.path, 'item_started', { isStalled: true });
  const chunk = 'x'.repeat(2 ** 14);
  let sent = 0;
  const { feeds } = our;
  const { pieceBytes } = feeds.limits;
  while (feeds.stats.bufferedBytes < count * pieceBytes && sent < 2_000) {
    await our.send(chunk);
    sent++;
  }
  const full = feeds.stats.bufferedBytes;
  for (let more = 0; more < 500; more++) await our.send(chunk);
  const { bufferedBytes, keptBytes, viewers: left } = feeds.stats;
  console.log(
    `${left} stalled viewers after ${sent} frames of 16 KiB: ${kib(full / count)} each in their connections; after 500 more: ${kib(bufferedBytes / count)} each, ${kib(keptBytes)} kept for all of them`,
  );
}

async function usedMemory(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let round = 0; round < 5; round++) {
    await macrotask();
    gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
