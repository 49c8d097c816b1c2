import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { expectedBegin, expectedEnd, textOf } from './cluster-agent.ts';

/** The final transcript of a task in a client, and the messages that were sent. */
interface ClientView {
  readonly id: string;
  readonly transcript: readonly Item[];
  readonly sent: readonly string[];
}

/**
 * Compares the client's transcript with the log. Returns a list of problems, which is empty if they agree.
 */
export async function problemsOf(log: Log, { id, transcript: seen, sent }: ClientView) {
  const stored = transcript(await snapshot(log, sessionId(id)));
  const problems: string[] = [];
  if (!isDeepStrictEqual(toPlainJson(seen), toPlainJson(stored)))
    problems.push(`Task ${id}: the client's transcript differs from the log`);
  const received = stored.filter(({ kind }) => kind === 'user').map(textOf);
  if (!isDeepStrictEqual([...received].sort(), [...sent].sort()))
    problems.push(
      `Task ${id}: ${sent.length} messages were sent, and it received ${received.join(', ')}`,
    );
  const answers = stored.filter(({ kind }) => kind === 'assistant').map(textOf);
  for (const message of sent)
    for (const words of [expectedBegin(message), expectedEnd(message)]) {
      const times = answers.filter((text) => text === words).length;
      if (times !== 1) problems.push(`Task ${id}: ${times} answers "${words.slice(0, 20)} …"`);
    }
  const rest = answers.filter((text) => !/^(Begin|End) [^:]+: (w\d+ ?)+\.$/.test(text));
  if (rest.length > 0) problems.push(`Task ${id}: unexpected answers ${JSON.stringify(rest)}`);
  return problems;
}

const toPlainJson = (items: readonly Item[]): unknown => JSON.parse(JSON.stringify(items));

/**
 * Counts the executions of tools. It is a problem if a tool with `afterCrash: 'fail'` ran twice for one
 * call.
 */
export function readToolRuns(file: string): {
  readonly charges: number;
  readonly looks: number;
  readonly problems: readonly string[];
} {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const charged = lines.flatMap((line) => /^charge \S+ (.*)$/.exec(line)?.[1] ?? []);
  const twice = charged.filter((answers, index) => charged.indexOf(answers) !== index);
  return {
    charges: charged.length,
    looks: lines.length - charged.length,
    problems: twice.map((answers) => `A tool with afterCrash 'fail' ran twice for ${answers}`),
  };
}
