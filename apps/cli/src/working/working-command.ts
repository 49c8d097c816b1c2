import { systemClock } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { commandHint } from '../args/command-hint.ts';
import { formatDuration, formatMoney, formatTokens } from '../chat/render/format-amounts.ts';
import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { loadConfig } from '../config/load-config.ts';
import type { PsArgs, TopArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import type { Key } from '../input/keys/key.ts';
import { listenForKeys } from '../input/keys/listen-for-keys.ts';
import { Output } from '../print/output.ts';
import { countOf, textTable } from '../print/text-table.ts';
import { withStore } from '../store/open-store.ts';
import { type SessionNames, sessionNames } from '../store/session-names.ts';
import type { ShortId } from '../store/session-summaries.ts';
import { clipCells } from '../text/cells/clip-text.ts';
import { oneLine } from '../text/cells/printable.ts';
import { TerminalText } from '../text/terminal/terminal-gate.ts';
import { type WorkingSession, workingSessions } from './working-sessions.ts';

/** Runs `millrace ps` and `millrace top`. */
export async function workingCommand(args: PsArgs | TopArgs, host: Host): Promise<number> {
  const { env, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  const output = new Output(host.stdout);
  const notes = new Output(host.stderr, { name: 'standard error' });
  const names = sessionNames(config, env);
  await withStore({ config, env }, async ({ log }) => {
    if (args.command === 'top' && host.stdout.isTTY === true && host.stdin.isTTY === true)
      return showScreen({ log, names, output, host });
    const { sessions, short } = await workingSessions(log, await names.read());
    if (args.command === 'ps' && args.json)
      return output.writeData(`${JSON.stringify(sessions, undefined, 2)}\n`);
    if (sessions.length === 0) return notes.write('No session has work.\n');
    const { isTTY, columns } = output.stream;
    const width = isTTY ? columns : undefined;
    const table =
      args.command === 'ps' ? psTable(sessions, short, width) : topTable(sessions, short, width);
    for (const line of table) await output.write(`${line}\n`);
    if (args.command === 'ps' && sessions.some(({ state }) => state !== 'running'))
      await notes.write(`Open one with ${commandHint(args, 'attach <session>')}\n`);
  });
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

type Table = (
  sessions: readonly WorkingSession[],
  short: ShortId,
  columns: number | undefined,
) => readonly string[];

const psTable: Table = (sessions, short, columns) => {
  const rows = sessions.map(({ id, state, driver, since, cwd, title, name }) => [
    ...[short(id), state, oneLine(driver ?? '–', 40)],
    new Date(since).toLocaleString('sv-SE').slice(0, 16),
    ...[oneLine(cwd ?? '–', 60), oneLine(name ?? title, 200)],
  ]);
  const head = ['SESSION', 'STATE', 'DRIVEN BY', 'SINCE', 'FOLDER', 'TITLE'];
  return textTable([head, ...rows], { columns, optional: [4, 3, 2] });
};

const topTable: Table = (sessions, short, columns) => {
  const rows = sessions.map((session) => [
    ...[short(session.id), oneLine(session.activity ?? session.state, 32)],
    formatDuration(systemClock.now() - session.since),
    ...[String(session.turn), formatTokens(session.tokens), formatMoney(session.costs) || '–'],
    ...[oneLine(session.driver ?? '–', 24), oneLine(session.name ?? session.title, 200)],
  ]);
  const head = ['SESSION', 'NOW', 'FOR', 'TURN', 'TOKENS', 'COST', 'DRIVEN BY', 'TITLE'];
  const options = { columns, rightAligned: [3, 4, 5], optional: [6, 3, 4, 5, 2] };
  return textTable([head, ...rows], options);
};

/** The time between two frames of `millrace top`. */
const frameMs = 1000;

interface ScreenOptions {
  readonly log: Log;
  readonly names: SessionNames;
  readonly output: Output;
  readonly host: Host;
}

/** Shows the sessions on the whole screen, until the user presses q, Esc or Ctrl-C. */
async function showScreen({ log, names, output, host }: ScreenOptions): Promise<void> {
  const { stream } = output;
  const clock = systemClock;
  const closed = Promise.withResolvers<'closed'>();
  const close = () => closed.resolve('closed');
  const stopListening = listenForKeys(
    { ...host, clock },
    {
      onCancel: close,
      onRead: ({ keys }) => {
        if (keys.some(isClosingKey)) close();
      },
    },
  );
  await output.write(TerminalText.openScreen());
  try {
    for (;;) {
      const { sessions, short } = await workingSessions(log, await names.read());
      const { columns = 80, rows = 24 } = stream;
      const lines = screenLines(sessions, short, columns);
      await output.write(TerminalText.frame(lines.slice(0, rows - 1)));
      if (output.failure !== undefined) return;
      const frame = Promise.withResolvers<'frame'>();
      const cancel = clock.after(frameMs, () => frame.resolve('frame'));
      const next = await Promise.race([frame.promise, closed.promise]);
      cancel();
      if (next === 'closed') return;
    }
  } finally {
    stopListening();
    await output.write(TerminalText.closeScreen());
  }
}

function isClosingKey(key: Key): boolean {
  if (key.type === 'key') return key.name === 'escape';
  if (key.type === 'chord') return key.ctrl && key.char === 'c';
  return key.type === 'text' && key.text === 'q';
}

function screenLines(
  sessions: readonly WorkingSession[],
  short: ShortId,
  columns: number,
): readonly string[] {
  const waiting = sessions.filter(({ state }) => state === 'waiting').length;
  const head = `${countOf(sessions.length, 'session')} with work, ${waiting} waiting for you · q closes`;
  const table = sessions.length === 0 ? [] : topTable(sessions, short, columns);
  return [clipCells(head, columns), '', ...table];
}
