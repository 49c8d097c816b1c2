import { diffSessions } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import { commandHint, type PlaceFlags } from '../args/command-hint.ts';
import type { DiffArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { hasColor, Output } from '../print/output.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { findSession, type SessionSummary } from '../store/session-summaries.ts';
import { colorTheme, plainTheme } from '../text/theme/theme.ts';
import { diffReport } from './diff-report.ts';

/** Runs `millrace diff`. It prints where two sessions went different ways, and why. */
export async function diffCommand(options: StoreCommandOptions<DiffArgs>): Promise<number> {
  const { args, stdout, env, cwd } = options;
  const output = new Output(stdout);
  await withStore(options, async ({ log }) => {
    const place = { cwd, flags: args };
    const first = await findSession(log, args.a, place);
    const other = args.b === undefined ? undefined : await findSession(log, args.b, place);
    const [a, b] = other ? [first.id, other.id] : [originOf(first, args), first.id];
    const diff = await diffSessions({ log, session: a }, { log, session: b });
    if (args.json) return output.writeData(`${JSON.stringify(diff, undefined, 2)}\n`);
    const theme = hasColor(stdout, { env, color: args.color }) ? colorTheme : plainTheme;
    // A terminal without a size reports 0 columns.
    const columns = (stdout.isTTY && stdout.columns) || undefined;
    for (const line of diffReport(diff, { theme, columns })) await output.write(line);
  });
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

function originOf({ id, forkOf }: SessionSummary, flags: PlaceFlags): SessionId {
  if (forkOf !== undefined) return forkOf;
  const way = `${commandHint(flags, 'diff', id)} <id>`;
  throw new UsageError(`Session ${id} is not a fork. Name the session to compare with: ${way}`);
}
