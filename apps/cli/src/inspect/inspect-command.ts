import { encodeRecord } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import type { InspectArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { textTable } from '../print/text-table.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { findSession, type SessionSummary } from '../store/session-summaries.ts';
import { recordRows } from './record-rows.ts';
import { reportLines, sessionTotals } from './session-report.ts';
import { turnReports } from './turn-reports.ts';

/**
 * Runs `millrace inspect`. It prints the records of a session, and a report about times and tokens.
 */
export async function inspectCommand(options: StoreCommandOptions<InspectArgs>): Promise<number> {
  const { args, stdout, cwd } = options;
  const output = new Output(stdout);
  await withStore(options, async ({ log }) => {
    const session = await findSession(log, args.session, { cwd, flags: args });
    await (args.json ? writeJson(log, session, output) : writeText(log, session, output));
  });
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

async function writeText(log: Log, { id }: SessionSummary, output: Output): Promise<void> {
  const { stream } = output;
  const columns = stream.isTTY ? stream.columns : undefined;
  const rows: (readonly string[])[] = [head];
  for await (const row of recordRows(readRecords(log, id))) rows.push(row);
  const table = textTable(rows, { columns, rightAligned: [0, 1, 2] });
  for (const line of [...table, '']) await output.write(`${line}\n`);
  const turns = await turnReports(readRecords(log, id));
  const lines = reportLines(turns, sessionTotals(turns), columns);
  for (const line of lines) await output.write(`${line}\n`);
}

const head = ['offset', 'seconds', 'turn', 'type', 'content'];

/**
 * Writes one JSON document. A session may have many records, so they are streamed as the last
 * field.
 */
async function writeJson(log: Log, session: SessionSummary, output: Output): Promise<void> {
  const turns = await turnReports(readRecords(log, session.id));
  const about = JSON.stringify({ session, totals: sessionTotals(turns), turns }, undefined, 2);
  await output.writeData(`${about.slice(0, -2)},\n  "records": [`);
  let separator = '\n';
  for await (const record of readRecords(log, session.id)) {
    await output.writeData(`${separator}    ${encodeRecord(record)}`);
    separator = ',\n';
  }
  await output.write('\n  ]\n}\n');
}
