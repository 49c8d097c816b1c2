import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { FaultReport } from '../../../../../scripts/chaos/faults.ts';
import { expectedBegin, expectedEnd, textOf } from './cluster-agent.ts';

/** The final transcript of a task in a client, and the sent messages. */
interface ClientView {
  readonly id: string;
  readonly transcript: readonly Item[];
  readonly sent: readonly string[];
}

/** Compares the client's transcript and the sent messages with the log. */
export async function checkTask(log: Log, view: ClientView): Promise<FaultReport> {
  const { id, sent } = view;
  const report = new FaultReport();
  const stored = transcript(await snapshot(log, sessionId(id)));
  if (!isDeepStrictEqual(toPlainJson(view.transcript), toPlainJson(stored)))
    report.add('gaps', `Task ${id}: the client's transcript differs from the log`);
  const received = stored.filter(({ kind }) => kind === 'user').map(textOf);
  compareTexts(report, `Task ${id}: message`, sent, received);
  const answers = stored.filter(({ kind }) => kind === 'assistant').map(textOf);
  const expected = sent.flatMap((message) => [expectedBegin(message), expectedEnd(message)]);
  compareTexts(report, `Task ${id}: answer`, expected, answers);
  return report;
}

/** Reports each text that is missing, occurs too often, is out of order, or was not expected. */
function compareTexts(
  report: FaultReport,
  what: string,
  expected: readonly string[],
  actual: readonly string[],
): void {
  const shortened = (text: string) => JSON.stringify(text.slice(0, 40));
  for (const text of new Set([...expected, ...actual])) {
    const isText = (other: string) => other === text;
    const [wanted, found] = [expected.filter(isText).length, actual.filter(isText).length];
    const problem = `${what} ${shortened(text)} occurs ${found} times instead of ${wanted}`;
    if (wanted === 0) report.add('invented', problem);
    else if (found < wanted) report.add('lost', problem);
    else if (found > wanted) report.add('doubled', problem);
  }
  const known = new Set(expected);
  const inOrder = [...new Set(actual)].filter((text) => known.has(text));
  const present = new Set(inOrder);
  const wantedOrder = [...known].filter((text) => present.has(text));
  const at = inOrder.findIndex((text, index) => text !== wantedOrder[index]);
  if (at >= 0)
    report.add('reordered', `${what} ${shortened(inOrder[at] ?? '')} is at the wrong place`);
}

const toPlainJson = (items: readonly Item[]): unknown => JSON.parse(JSON.stringify(items));

/**
 * Counts the executions of tools. An execution counts as doubled if a tool with `afterCrash: 'fail'` ran
 * twice for one message.
 */
export function checkToolRuns(file: string): {
  readonly charges: number;
  readonly looks: number;
  readonly report: FaultReport;
} {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const charged = lines.flatMap((line) => /^charge \S+ (.*)$/.exec(line)?.[1] ?? []);
  const report = new FaultReport();
  charged.forEach((message, index) => {
    if (charged.indexOf(message) !== index)
      report.add('doubled', `A tool with afterCrash 'fail' ran twice for ${message}`);
  });
  return { charges: charged.length, looks: lines.length - charged.length, report };
}
