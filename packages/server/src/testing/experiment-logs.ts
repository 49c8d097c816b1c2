import { createAgent } from '@millrace/agent';
import { judge, matchesText, runExperiment } from '@millrace/agent/evals';
import { type DraftRecord, itemId, type JsonValue, noUsage } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';

/** Runs a small experiment with two variants, three cases and a judge. The new variant answers one case worse. */
export async function runSmallExperiment(log: Log, name = 'sums'): Promise<void> {
  const script = (answers: readonly string[]) => scriptedProvider([...answers]);
  const agent = (instructions: string, answers: readonly string[]) =>
    createAgent({ log, provider: script(answers), instructions });
  const vote = '{"reason":"It is short.","score":0.75}';
  const provider = scriptedProvider(Array.from({ length: 6 }, () => vote));
  await runExperiment({
    ...{ name, log, concurrency: 1 },
    variants: { old: agent('Add.', ['2', '5', '6']), new: agent('Add well.', ['2', '4', '7']) },
    cases: ['1+1', '2+2', '3+3'].map((input) => {
      return { id: input, input, expected: String(Number(input[0]) * 2) };
    }),
    scorers: [
      matchesText({ name: 'correct' }),
      judge({ name: 'polite', provider, criteria: 'It is polite.' }),
    ],
  });
}

/** Appends results to the session of an experiment, as an imported log can have them. */
export async function appendResults(
  log: Log,
  session: string,
  values: readonly JsonValue[],
): Promise<void> {
  const start = (await log.info(session))?.through ?? 0;
  const driver = await log.open(session, { from: start });
  const at = { turn: 0, attempt: 0 };
  const drafts = values.flatMap((value, index): readonly DraftRecord[] => {
    const id = itemId(`i${start}x${index}`);
    const part = { kind: 'custom', name: 'millrace.eval', value } as const;
    const delta = { type: 'commit_part', partId: `0.0.r${start}x${index}`, itemId: id, part };
    return [
      { ...at, fact: { type: 'item_started', itemId: id, kind: 'notification' } },
      { ...at, delta: delta as unknown as NonNullable<DraftRecord['delta']> },
      { ...at, fact: { type: 'item_finished', itemId: id } },
    ];
  });
  await driver.append(drafts);
  await driver.release();
}

/** Returns the results of an experiment with 3 variants, 50 cases and 3 repeats. Some runs fail. */
export function manyResults(name: string): readonly JsonValue[] {
  const variants = ['v1', 'v2', 'v3'];
  return Array.from({ length: 450 }, (_, index) => {
    const variant = variants[index % 3] ?? '';
    const repeat = Math.floor(index / 150) + 1;
    const id = `case ${(Math.floor(index / 3) % 50) + 1}`;
    const session = `eval/${name}/${variant}/${id}/${repeat}/0123456789abcdef`;
    const isFailed = index % 90 === 0;
    const usage = {
      ...noUsage,
      input: 100,
      output: 10,
      costs: [{ amount: '0.01', currency: 'USD' }],
    };
    const run = { type: 'run', variant, case: id, repeat, planned: session, session, isFailed };
    const value = (index % 7) / 6;
    const score = { value, reason: 'because' };
    return [
      { ...run, stop: isFailed ? 'error' : 'stop', usage, durationMs: index },
      { type: 'score', planned: session, scorer: 'quality', hash: 'x', score },
    ] as unknown as readonly JsonValue[];
  }).flat();
}
