import { join } from 'node:path';
import { type DraftRecord, itemId, noUsage, partId, sessionId } from '@millrace/core';
import { type Driver, type Log, memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';

/** The number of appends in one sample. A short sample is often not interrupted by other programs. */
const appendsPerSample = 40;
const samples = 300;
/** The first samples are not counted, because the code is not compiled yet. */
const warmUps = 40;
const samplesPerSession = 20;
const head = { turn: 1, attempt: 1 };
const part = partId(1, 1, 'text');
const begin: readonly DraftRecord[] = [
  { ...head, fact: { type: 'item_started', itemId: itemId('i'), kind: 'assistant' } },
  { ...head, delta: { type: 'begin_part', partId: part, itemId: itemId('i'), kind: 'text' } },
];

/** Returns the drafts of a record, from the number of records before it. */
type Content = (before: number) => DraftRecord;

const contents: Readonly<Record<string, Content>> = {
  'streamed text': (before) => ({
    ...head,
    delta: { type: 'append_text', partId: part, at: before * 4, chunk: 'word' },
  }),
  facts: (before) => ({
    ...head,
    fact: { type: 'usage_reported', usage: { ...noUsage, input: before } },
  }),
};

/**
 * Measures the time that the hash chain adds to an append. Each append is one transaction. Both logs run in
 * turns. The result compares the fastest tenth of the samples, because other programs only add time.
 */
export async function compareChain(folder: string): Promise<void> {
  const open = (chain: boolean) =>
    sqliteLog({ path: join(folder, `chain-${chain}.db`), commitIntervalMs: 0, chain });
  await compare('SQLite', open, '   goal: ≤ 1.05');
  await compare('memory', (chain) => memoryLog({ chain }), '');
}

async function compare(name: string, open: (chain: boolean) => Log, goal: string): Promise<void> {
  const [plain, chained] = [new Subject(open(false)), new Subject(open(true))];
  for (const [kind, content] of Object.entries(contents))
    for (const length of [1, 10, 100]) {
      for (let sample = 0; sample < samples; sample++)
        for (const subject of sample % 2 === 0 ? [plain, chained] : [chained, plain])
          await subject.sample(`${kind} ${length}`, sample, length, content);
      const [before, after] = [plain.take(), chained.take()];
      const cpu = `${before.cpuUs.toFixed(1)} → ${after.cpuUs.toFixed(1)} µs of CPU`;
      const ratio = (after.cpuUs / before.cpuUs).toFixed(3);
      const wall = (after.wallUs / before.wallUs).toFixed(3);
      const what = `hash chain, ${name}, appends of ${length} records of ${kind}`;
      console.log(`${what}: ${cpu}, ${ratio} × (${wall} × of the time)${goal}`);
    }
  for (const subject of [plain, chained]) await subject.close();
}

/** A log with its samples. */
class Subject {
  readonly #log: Log;
  #driver: Driver | undefined;
  #before = 0;
  #cpuUs: number[] = [];
  #wallUs: number[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  async sample(name: string, sample: number, length: number, content: Content): Promise<void> {
    if (sample % samplesPerSession === 0) await this.#start(`${name} ${sample}`);
    const batches = Array.from({ length: appendsPerSample }, () =>
      Array.from({ length }, () => content(this.#before++)),
    );
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    for (const drafts of batches) await this.#driver?.append(drafts);
    const { user, system } = process.cpuUsage(cpu);
    const wallUs = (performance.now() - start) * 1000;
    if (sample < warmUps) return;
    this.#cpuUs.push((user + system) / appendsPerSample);
    this.#wallUs.push(wallUs / appendsPerSample);
  }

  /** Returns the times of one append, and removes the samples. */
  take(): { readonly cpuUs: number; readonly wallUs: number } {
    const [cpuUs, wallUs] = [fastestTenth(this.#cpuUs), fastestTenth(this.#wallUs)];
    [this.#cpuUs, this.#wallUs] = [[], []];
    return { cpuUs, wallUs };
  }

  async close(): Promise<void> {
    await this.#driver?.release();
    await this.#log.close();
  }

  async #start(session: string): Promise<void> {
    await this.#driver?.release();
    this.#driver = await this.#log.open(sessionId(session));
    await this.#driver.append(begin);
    this.#before = 0;
  }
}

function fastestTenth(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)] ?? 0;
}
