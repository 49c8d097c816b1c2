import { relative } from 'node:path';
import { type Clock, systemClock } from '@millrace/agent';
import type { Config, UntrustedFile } from '../contract/config.ts';
import type { UntrustedExtensions } from '../contract/extensions.ts';
import type { Host } from '../contract/host.ts';
import { AnswerGuard, refusalIn } from '../input/answer/answer-guard.ts';
import type { KeyRead } from '../input/keys/key-reader.ts';
import { listenForKeys } from '../input/keys/listen-for-keys.ts';
import { cellWidth, withLargestWidths } from '../text/cells/cell-width.ts';
import { wrapCells } from '../text/cells/clip-text.ts';
import { printable } from '../text/cells/printable.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { asciiQuestion, isAsciiTerminal } from '../text/terminal/ascii-terminal.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';

/** The terminal in which a question is asked. */
export type AskHost = Pick<Host, 'stdin' | 'signal'> & {
  /** The environment, which names the locale of the terminal. Default: that of this process. */
  readonly env?: Host['env'] | undefined;
  /** The output. If it is a terminal, it has a size. */
  readonly stdout: Host['stdout'] & {
    readonly rows?: number | undefined;
    readonly columns?: number | undefined;
  };
  readonly clock?: Clock | undefined;
};

/**
 * Asks a question. Only a single `y` means yes, as for an approval in the chat. A key is ignored if
 * it arrives before the question, less than a second after it, or together with other keys. A long
 * question is shown in pages. Enter, `n` and Esc on any page mean no. Returns undefined if the user
 * cancels with Ctrl-C or Ctrl-D, or if the input ends.
 */
export async function askYesNo(host: AskHost, question: string): Promise<boolean | undefined> {
  const { stdin, stdout, signal, clock = systemClock, env = process.env } = host;
  const shown = isAsciiTerminal(env) ? asciiQuestion(printable(question)) : question;
  const pages = pagesOf(`${shown} ${choices}`, stdout);
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const guard = new AnswerGuard({ clock, onChange: () => {} });
  let isHinted = false;
  const onEarly = () => {
    if (isHinted) return;
    isHinted = true;
    const hint = linesOf(`${earlyHint} ${choices}`, stdout).join('\n');
    writeText(stdout, `\n${hint} `);
  };
  const showNext = () => {
    const page = pages.shift() ?? '';
    const left = pages.length;
    writeText(stdout, left === 0 ? `${page} ` : `${page}\n${moreHint(left)}\n`);
    guard.restart();
  };
  const onRead = (read: KeyRead) => {
    const isLast = pages.length === 0;
    if (!isLast && isSpace(read)) return showNext();
    readAnswer(read, guard, { onAnswer: resolve, onEarly, canApprove: isLast });
  };
  const stopListening = listenForKeys(
    { stdin, signal, clock },
    { onRead, onCancel: () => resolve(undefined) },
  );
  showNext();
  try {
    const answer = await promise;
    writeText(stdout, answer === true ? 'yes\n' : answer === false ? 'no\n' : '\n');
    return answer;
  } finally {
    guard.close();
    stopListening();
  }
}

/** The number of lines that the hint and the cursor need on a page. */
const reservedRows = 2;
const minRows = 3;

/** The possible answers. They follow the question. */
const choices = '[y/N]';

/** Splits a question into pages that fit the window. */
function pagesOf(question: string, stdout: AskHost['stdout']): string[] {
  const lines = linesOf(question, stdout);
  const size = Math.max(minRows, (stdout.rows ?? Number.POSITIVE_INFINITY) - reservedRows);
  const pages: string[] = [];
  for (let at = 0; at < lines.length; at += size) pages.push(lines.slice(at, at + size).join('\n'));
  return pages;
}

/** Starts each row that continues an indented line. Only this program writes into these columns. */
const wrapped = '  ↳ ';

/**
 * Wraps a text to the width of the window. Lines with content of the project are indented, and only sentences of the
 * question are not. If the window breaks an indented line, its further rows have a mark, so no row of the content can
 * look like a sentence of the question. A row that continues after a space shows this space. One cell stays free for the
 * cursor, so that the terminal does not break a word or the choices.
 */
function linesOf(text: string, { columns }: AskHost['stdout']): readonly string[] {
  const lines = printable(text).split('\n');
  if (columns === undefined) return lines;
  // A line that the terminal wraps once more would push the start of the page off the screen.
  return withLargestWidths(() => lines.flatMap((line) => wrapLine(line, columns - 1)));
}

function wrapLine(line: string, width: number): readonly string[] {
  const [margin] = /^ {2}(?:│ )?/.exec(line) ?? [];
  if (cellWidth(line) <= width || margin === undefined) return wrapCells(line, Math.max(1, width));
  const room = Math.max(1, width - cellWidth(wrapped));
  const rows = wrapCells(line.slice(margin.length), room, { showsSpaces: true });
  return rows.map((row, index) => (index === 0 ? margin : wrapped) + row);
}

function moreHint(left: number): string {
  return `Space shows more (${left} ${left === 1 ? 'page' : 'pages'}), n refuses.`;
}

function isSpace({ keys: [key], isAlone }: KeyRead): boolean {
  return isAlone && key?.type === 'text' && key.text === ' ';
}

const earlyHint = 'Wait one second, then press a single key.';

interface AnswerHandlers {
  readonly onAnswer: (answer: boolean | undefined) => void;
  /** Called if a key was ignored. */
  readonly onEarly: () => void;
  /** True after the whole question was shown. */
  readonly canApprove: boolean;
}

function readAnswer(
  read: KeyRead,
  guard: AnswerGuard,
  { onAnswer, onEarly, canApprove }: AnswerHandlers,
): void {
  const isQuiet = guard.isQuiet;
  guard.restart();
  const { keys, isAlone } = read;
  if (keys.some((key) => key.type === 'chord' && key.ctrl && /[cd]/.test(key.char)))
    return onAnswer(undefined);
  if (keys.some((key) => key.type === 'key' && key.name === 'escape')) return onAnswer(false);
  const [key] = keys;
  if (!isQuiet || key === undefined) return key === undefined ? undefined : onEarly();
  if (refusalIn(read) !== undefined) return onAnswer(false);
  if (!isAlone) return onEarly();
  if (key.type === 'key' && key.name === 'enter') return onAnswer(false);
  const isYes = key.type === 'text' && /^y$/i.test(key.text);
  if (canApprove && isYes) guard.hold(key, () => onAnswer(true));
}

const riskDescriptions: Readonly<Record<string, string>> = {
  models: 'set where requests and keys are sent',
  mcpServers: 'start programs',
  'permissions.allow': 'let tools run without approval',
  'permissions.deny': 'hide paths outside of the folder from commands',
  'permissions.mode': 'let tools do more than your own configuration allows',
  limits: 'exceed your own limits',
};

/**
 * Asks the user whether to use all settings of a project's file. Returns undefined if the user
 * cancels.
 */
export async function askForTrust(
  { untrusted }: Pick<Config, 'untrusted'>,
  host: AskHost,
): Promise<boolean | undefined> {
  return untrusted === undefined ? false : askYesNo(host, trustQuestion(untrusted));
}

/**
 * Returns the question about a project's file. The file can contain hidden characters, so they are
 * made visible.
 */
function trustQuestion(untrusted: UntrustedFile): string {
  const { path, parts, content, scripts, removedScripts = [] } = untrusted;
  const visible = (name: string) => revealHidden(name).replaceAll('\n', '␊');
  const wants = parts.map(
    (part) => `  - ${riskDescriptions[part] ?? visible(part)} (${visible(part)})\n`,
  );
  const files = scripts.map(
    (one) =>
      `  - ${visible(one.path)}${one.isChanged ? ' (new, or changed since you trusted it)' : ''}\n`,
  );
  files.push(
    ...removedScripts.map((one) => `  - ${visible(one)} (removed since you trusted it)\n`),
  );
  const started = files.length === 0 ? '' : `Its servers run these files:\n${files.join('')}`;
  const settings = revealHidden(content).replaceAll(/^/gm, '  │ ');
  return `${visible(path)} wants to:\n${wants.join('')}These are the settings:\n${settings}\n${started}Any project can contain such a file.\nYou are asked again when it changes.\nTrust all of it?`;
}

/**
 * Asks the user whether to use the extensions of a project. Returns undefined if the user cancels.
 */
export async function askForExtensions(
  untrusted: UntrustedExtensions,
  host: AskHost,
): Promise<boolean | undefined> {
  return askYesNo(host, extensionsQuestion(untrusted));
}

/** Returns the further files that the code of extensions can import. */
function importedBy(modules: UntrustedExtensions['found']['modules']): readonly string[] {
  const files = new Set(modules.flatMap((module) => Object.keys(module.files ?? {})));
  for (const { path } of modules) files.delete(path);
  return [...files].toSorted();
}

/** Returns the question about the extensions of a project. It shows everything that would be used. */
function extensionsQuestion({ root, found }: UntrustedExtensions): string {
  const visible = (text: string) => revealHidden(text).replaceAll('\n', '␊');
  const shown = (path: string) => visible(relative(root, path));
  const list = (wants: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `  - ${wants}:\n${lines.map((line) => `      ${line}\n`).join('')}`;
  const { hooks, modules, instructions, skills, commands, agents } = found;
  const parts = [
    list(
      'run programs (hooks), in the sandbox if there is one',
      hooks.map(({ event, matcher, condition, command, isAsync, timeoutMs }) => {
        const on = [event, matcher, condition].filter((one) => one !== undefined).join(' ');
        const how = isAsync ? 'in the background, ' : '';
        return `${visible(on)}: ${visible(command)} (${how}at most ${timeoutMs / 1000} s)`;
      }),
    ),
    list(
      'run code with all your rights, outside of the sandbox (extensions)',
      modules.map(({ name, path }) => `${visible(name)} (${shown(path)})`),
    ),
    list('use these files in that code', importedBy(modules).map(shown)),
    list(
      'add instructions to the prompt',
      instructions.map(({ path }) => shown(path)),
    ),
    list(
      'add skills',
      skills.map(({ name, path }) => `${visible(name)} (${shown(path)})`),
    ),
    list(
      'add commands',
      commands.map(({ name, path }) => `/${visible(name)} (${shown(path)})`),
    ),
    list(
      'add sub-agents',
      agents.map(({ name, path }) => `${visible(name)} (${shown(path)})`),
    ),
  ];
  return `Files in ${visible(root)} want to:\n${parts.join('')}Any project can contain such files.\nYou are asked again when a hook or an extension changes, or a file is added.\nTrust all of them?`;
}
