import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { expectedBegin, expectedEnd, textOf } from './cluster-agent.ts';

/** What a client has of a task at the end, and what it sent there. */
interface ClientView {
  readonly id: string;
  readonly transcript: readonly Item[];
  readonly sent: readonly string[];
}

/** What is wrong with what was seen, held against the log. Nothing, where all is well. */
export async function problemsOf(log: Log, { id, transcript: seen, sent }: ClientView) {
  const stored = transcript(await snapshot(log, sessionId(id)));
  const problems: string[] = [];
  if (!isDeepStrictEqual(toPlainJson(seen), toPlainJson(stored)))
    problems.push(`Task ${id}: the client has another transcript than the log`);
  const heard = stored.filter(({ kind }) => kind === 'user').map(textOf);
  if (!isDeepStrictEqual([...heard].sort(), [...sent].sort()))
    problems.push(
      `Task ${id}: ${sent.length} messages were sent, and it heard ${heard.join(', ')}`,
    );
  const said = stored.filter(({ kind }) => kind === 'assistant').map(textOf);
  for (const message of sent)
    for (const words of [expectedBegin(message), expectedEnd(message)]) {
      const times = said.filter((text) => text === words).length;
      if (times !== 1) problems.push(`Task ${id}: ${times} times said "${words.slice(0, 20)} …"`);
    }
  const rest = said.filter((text) => !/^(Begin|End) [^:]+: (w\d+ ?)+\.$/.test(text));
  if (rest.length > 0) problems.push(`Task ${id}: it also said ${JSON.stringify(rest)}`);
  return problems;
}

const toPlainJson = (items: readonly Item[]): unknown => JSON.parse(JSON.stringify(items));

/** What tools did, by message: how many did it, and which of `replay: 'never'` did it twice. */
export function readToolRuns(file: string): {
  readonly charges: number;
  readonly looks: number;
  readonly problems: readonly string[];
} {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const charged = lines.flatMap((line) => /^charge \S+ (.*)$/.exec(line)?.[1] ?? []);
  const twice = charged.filter((said, index) => charged.indexOf(said) !== index);
  return {
    charges: charged.length,
    looks: lines.length - charged.length,
    problems: twice.map((said) => `The tool that must not run twice did so for ${said}`),
  };
}
