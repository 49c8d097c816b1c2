import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { encodeRecording, type TestReport, testRecordings } from '@millrace/agent/testing';
import { memoryLog } from '@millrace/log';
import { secretMasks } from '@millrace/tools';
import type { TestArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { hasColor, Output } from '../print/output.ts';
import { assertNewReports, writeReportFile } from '../print/report-outputs.ts';
import { maskText } from '../sessions/masked-records.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { colorTheme, plainTheme } from '../text/theme/theme.ts';
import { openAgents } from './find-agent.ts';
import { findSources, type RecordingSource } from './load-recordings.ts';
import { jsonReport, junitReport, markdownReport } from './report-files.ts';
import { htmlReport } from './report-html.ts';
import { textReport } from './report-text.ts';

/**
 * Runs `millrace test`. It runs recorded sessions through the agents of a module and reports what changed. The
 * exit code is 1 if a recording changed or cannot be run.
 */
export async function testCommand(options: StoreCommandOptions<TestArgs>): Promise<number> {
  const { args, stdout, stderr, env, cwd, signal } = options;
  const output = new Output(stdout);
  const notes = new Output(stderr, { name: 'standard error' });
  assertNewReports(args);
  const agents = await openAgents(args.agents, memoryLog());
  const sources = await findSources(args.operands, {
    ...{ cwd, flags: args },
    withLog: (use) => withStore(options, ({ log }) => use(log)),
  });
  const newMask = secretMasks(env);
  const report = await testRecordings(
    ({ agent }) => agents.find(args.agent ?? (agent || undefined)).agent,
    sources.map(({ name, load }) => ({ name, recording: load })),
    {
      ...{ mode: args.mode, signal, live: { tools: args.tools } },
      maskText: (text) => maskText(text, newMask),
    },
  );
  const accepted = args.accept ? await acceptChanges(report, sources) : new Set<string>();
  for (const path of args.outputs) await writeReportFile(path, reportFor(path, report), args.force);
  if (args.json) await output.writeData(jsonReport(report));
  else {
    const theme = hasColor(stdout, { env, color: args.color }) ? colorTheme : plainTheme;
    const columns = (stdout.isTTY && stdout.columns) || undefined;
    for (const line of textReport(report, { theme, columns, accepted })) await output.write(line);
  }
  const loose = report.results.filter(({ isPinned }) => !isPinned).length;
  if (loose > 0)
    await notes.write(
      `${loose} of ${report.results.length} sessions are not pinned, so their requests are unknown and only the loop was compared.\n`,
    );
  if (output.failure?.code === 'cannot_write') throw output.failure;
  if (signal?.aborted) return exitCodes.aborted;
  const isGood = report.results.every(
    ({ name, status }) => status === 'same' || accepted.has(name),
  );
  return isGood ? exitCodes.done : exitCodes.error;
}

/** Writes the changed recordings again. Returns the names of the accepted recordings. */
async function acceptChanges(
  { results }: TestReport,
  sources: readonly RecordingSource[],
): Promise<ReadonlySet<string>> {
  const paths = new Map(sources.map(({ name, path }) => [name, path]));
  const names = new Set<string>();
  for (const { name, accepted } of results) {
    const path = paths.get(name);
    if (accepted === undefined || path === undefined) continue;
    await writeFile(path, encodeRecording(accepted));
    names.add(name);
  }
  return names;
}

/** Returns the report in the form that the ending of the file names. */
function reportFor(path: string, report: TestReport): string {
  const forms: Readonly<Record<string, (report: TestReport) => string>> = {
    ...{ '.xml': junitReport, '.json': jsonReport, '.md': markdownReport },
    ...{ '.html': htmlReport, '.htm': htmlReport },
  };
  return forms[extname(path).toLowerCase()]?.(report) ?? jsonReport(report);
}
