import { relative } from 'node:path';
import { type Clock, systemClock } from '@millrace/agent';
import type { Config, UntrustedFile } from '../contract/config.ts';
import type { UntrustedExtensions } from '../contract/extensions.ts';
import type { Host } from '../contract/host.ts';
import { AnswerGuard, refusalIn } from '../input/answer/answer-guard.ts';
import type { KeyRead } from '../input/keys/key-reader.ts';
import { listenForKeys } from '../input/keys/listen-for-keys.ts';
import { printable } from '../text/cells/printable.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { asciiQuestion, isAsciiTerminal } from '../text/terminal/ascii-terminal.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { choices, QuestionPages, type WindowSize } from './question-pages.ts';

/** The terminal in which a question is asked. */
export type AskHost = Pick<Host, 'stdin' | 'signal'> & {
  /** The environment, which names the locale of the terminal. Default: that of this process. */
  readonly env?: Host['env'] | undefined;
  /** The output. If it is a terminal, it has a size. */
  readonly stdout: Host['stdout'] &
    WindowSize & {
      /** Reads the size, and emits `resize` if it has changed. */
      _refreshSize?: (() => void) | undefined;
    };
  readonly clock?: Clock | undefined;
};

/**
 * Asks a question. Only a single `y` means yes, as for an approval in the chat. A key is ignored if
 * it arrives before the question, less than a second after it, or together with other keys. A long
 * question is shown in pages. If the size of the window changes, the page is shown again. Enter, `n` and Esc on any
 * page mean no. Returns undefined if the user cancels with Ctrl-C or Ctrl-D, or if the input ends.
 */
export async function askYesNo(host: AskHost, question: string): Promise<boolean | undefined> {
  const { stdin, stdout, signal, clock = systemClock, env = process.env } = host;
  const shown = isAsciiTerminal(env) ? asciiQuestion(printable(question)) : question;
  const pages = new QuestionPages(`${shown} ${choices}`);
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const guard = new AnswerGuard({ clock, onChange: () => {} });
  let isHinted = false;
  let size = sizeOf(stdout);
  let page = pages.page(size);
  /** True until the user had time to see a page that replaced another one. */
  let isReplaced = false;
  const show = (note?: string) => {
    size = sizeOf(stdout);
    page = pages.page(size, note);
    writeText(stdout, page.text);
    guard.restart();
  };
  const showAgain = (note?: string) => {
    isReplaced = true;
    writeText(stdout, '\n');
    show(note);
  };
  const onResize = () => {
    const { rows, columns } = sizeOf(stdout);
    if (rows !== size.rows || columns !== size.columns) showAgain();
  };
  const onEarly = () => {
    if (isHinted) return;
    isHinted = true;
    const { text, height } = new QuestionPages(`${earlyHint} ${choices}`).page(size);
    // A hint below the page must not push its first rows off the screen.
    if (page.isLast && page.height + height < (size.rows ?? Number.POSITIVE_INFINITY))
      writeText(stdout, `\n${text}`);
    else showAgain(earlyHint);
  };
  const onRead = (read: KeyRead) => {
    // On a busy machine, a key can arrive before the signal that reports a new size.
    stdout._refreshSize?.();
    onResize();
    if (guard.isQuiet) isReplaced = false;
    if (!page.isLast && isSpace(read) && !isReplaced) {
      pages.advance();
      return show();
    }
    readAnswer(read, guard, { onAnswer: resolve, onEarly, canApprove: page.isLast });
  };
  const stopListening = listenForKeys(
    { stdin, signal, clock },
    { onRead, onCancel: () => resolve(undefined) },
  );
  stdout.on('resize', onResize);
  show();
  try {
    const answer = await promise;
    writeText(stdout, answer === true ? 'yes\n' : answer === false ? 'no\n' : '\n');
    return answer;
  } finally {
    stdout.off('resize', onResize);
    guard.close();
    stopListening();
  }
}

/** Returns the size of a terminal. A terminal that reports 0 does not know its size, and counts as a usual terminal. */
function sizeOf({ rows, columns }: WindowSize): WindowSize {
  return { rows: rows === 0 ? 24 : rows, columns: columns === 0 ? 80 : columns };
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
