import { createInterface } from 'node:readline/promises';
import { type Clock, systemClock } from '@millrace/agent';
import type { Config, UntrustedFile } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';
import { AnswerGuard, refusalIn } from '../input/answer/answer-guard.ts';
import { type KeyRead, KeyReader } from '../input/keys/key-reader.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { TerminalText, writeText } from '../text/terminal/terminal-gate.ts';

/** The terminal that a question is asked in. */
export type AskHost = Pick<Host, 'stdin' | 'stdout' | 'signal'> & {
  readonly clock?: Clock | undefined;
};

/**
 * Asks the user for a line of text before the chat starts. Undefined if the user cancels. Use
 * `askYesNo` if the answer allows something.
 */
export async function askUser(
  { stdin, stdout, signal }: AskHost,
  question: string,
): Promise<string | undefined> {
  const lines = createInterface({ input: stdin, output: stdout });
  const cancelled = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined));
    lines.once('SIGINT', () => resolve(undefined));
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    // `question` never settles when the input ends, so `cancelled` is raced with it.
    return await Promise.race([lines.question(TerminalText.of(question).ansi), cancelled]);
  } finally {
    lines.close();
  }
}

/**
 * Asks a question that only a single `y` answers with yes, by the same rules as an approval in the
 * chat: nothing typed before the question, within a second of it, or together with other keys
 * counts. Enter, `n` and Esc answer no. Undefined if the user cancels with Ctrl-C or Ctrl-D, or the
 * input ends.
 */
export async function askYesNo(host: AskHost, question: string): Promise<boolean | undefined> {
  const { stdin, stdout, signal, clock = systemClock } = host;
  writeText(stdout, `${question} [y/N] `);
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const guard = new AnswerGuard({ clock, onChange: () => {} });
  let isHinted = false;
  const onEarly = () => {
    if (isHinted) return;
    isHinted = true;
    writeText(stdout, `\n${earlyHint} [y/N] `);
  };
  const onRead = (read: KeyRead) => readAnswer(read, guard, { onAnswer: resolve, onEarly });
  const reader = new KeyReader({ clock, onRead });
  const decoder = new TextDecoder();
  const listen = (chunk: string | Buffer) =>
    reader.push(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }));
  const cancel = () => resolve(undefined);
  stdin.setRawMode?.(true);
  stdin.on('data', listen);
  stdin.once('end', cancel);
  signal.addEventListener('abort', cancel, { once: true });
  guard.restart();
  if (signal.aborted) cancel();
  try {
    const answer = await promise;
    writeText(stdout, answer === true ? 'yes\n' : answer === false ? 'no\n' : '\n');
    return answer;
  } finally {
    guard.close();
    reader.reset();
    signal.removeEventListener('abort', cancel);
    stdin.off('end', cancel);
    stdin.off('data', listen);
    stdin.setRawMode?.(false);
    stdin.pause();
  }
}

const earlyHint = 'Wait one second, then press a single key.';

interface AnswerHandlers {
  readonly onAnswer: (answer: boolean | undefined) => void;
  /** Called if a key did not count. */
  readonly onEarly: () => void;
}

function readAnswer(
  read: KeyRead,
  guard: AnswerGuard,
  { onAnswer, onEarly }: AnswerHandlers,
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
  if (key.type === 'text' && /^y$/i.test(key.text)) guard.hold(key, () => onAnswer(true));
}

const riskDescriptions: Readonly<Record<string, string>> = {
  models: 'set where requests and keys are sent',
  mcpServers: 'start programs',
  store: 'set where sessions are stored',
  'permissions.allow': 'let tools run without approval',
  'permissions.mode': 'let tools do more than your own configuration allows',
  limits: 'exceed your own limits',
};

/** Asks the user whether to use all settings of a project's file. Undefined if the user cancels. */
export async function askForTrust(
  { untrusted }: Pick<Config, 'untrusted'>,
  host: AskHost,
): Promise<boolean | undefined> {
  return untrusted === undefined ? false : askYesNo(host, trustQuestion(untrusted));
}

/** The names come from the project, so their hidden characters are made visible. */
function trustQuestion({ path, parts, content }: UntrustedFile): string {
  const visible = (name: string) => revealHidden(name.replaceAll('\n', '␊'));
  const wants = parts.map(
    (part) => `  - ${riskDescriptions[part] ?? visible(part)} (${visible(part)})\n`,
  );
  return `${visible(path)} wants to:\n${wants.join('')}These are the settings:\n${revealHidden(content)}\nAny project can contain such a file. Trust all of it?\nYou are asked again when it changes.`;
}
