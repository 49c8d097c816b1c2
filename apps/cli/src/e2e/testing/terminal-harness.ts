import { spawnSync } from 'node:child_process';
import { describe, type SuiteAPI, type TestContext } from 'vitest';
import { isRequirementMissing } from '../../../../../packages/log/src/testing/external-programs.ts';
import { openTerminal, type TerminalOptions, type TestTerminal } from './test-terminal.ts';
import { openTestWorkspace, type TestWorkspace } from './test-workspace.ts';

interface TerminalHarness {
  readonly workspace: TestWorkspace;
  readonly open: (options?: TerminalOptions) => Promise<TestTerminal>;
}

/** Creates a workspace and opens terminals in it. Everything is removed after the test. */
export function terminalHarness(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  files: Readonly<Record<string, string>> = {},
): TerminalHarness {
  const workspace = openTestWorkspace(files);
  const terminals: TestTerminal[] = [];
  onTestFinished(async () => {
    for (const terminal of terminals) await terminal.close();
    await workspace.close();
  });
  const open = async (options: TerminalOptions = {}) => {
    const terminal = await openTerminal(workspace, options);
    terminals.push(terminal);
    return terminal;
  };
  return { workspace, open };
}

/** The text in an empty prompt. */
export const promptText = 'Say what to do.';

/** The hint while no run is in progress. */
export const idleHint = 'Enter sends';

/** Starts the chat and waits for the prompt. */
export async function startChat(terminal: TestTerminal, args = ''): Promise<string> {
  await terminal.send(`millrace ${args}`);
  return terminal.waitFor(promptText);
}

/**
 * Waits until a dialog accepts keys. A new dialog ignores keys for a second, because the user may
 * still be typing. On a busy machine this takes longer, so this function waits for the hint of the
 * dialog.
 */
export async function waitForDialog(terminal: TestTerminal): Promise<string> {
  const first = secondsOf(await terminal.waitFor('waiting for your answer'));
  // At first, the screen shows the time in tenths of a second, and later in whole seconds. Both are
  // rounded.
  const settled = first < 8 ? first + 1.3 : first + 3;
  const isReady = (screen: string) => {
    const seconds = secondsOf(screen);
    if (seconds >= settled && readyHint.test(screen)) return true;
    // This hint may appear before the quiet period has ended. So this function waits one more
    // second.
    return seconds >= settled + 1 && screen.includes('Read all of it first');
  };
  return terminal.waitUntil(isReady, `an ask that accepts keys after ${settled} s`);
}

const readyHint = /y approves|Choose an answer/;

/** Returns the number of seconds that the dialog on the screen has waited. */
export function secondsOf(screen: string): number {
  const [, minutes = '0', seconds = '0'] =
    /waiting for your answer · (?:(\d+) min )?([\d.]+) s/.exec(screen) ?? [];
  return 60 * Number(minutes) + Number(seconds);
}

/** Removes line breaks and margins, because they depend on the width. */
export function withoutLayout(text: string): string {
  return text.replaceAll(/[\s│↳␣]+/g, ' ').trim();
}

export function countOf(text: string, wanted: string): number {
  return text.split(wanted).length - 1;
}

const { status } = spawnSync('tmux', ['-V']);
const missing = 'tmux is not there, and these tests need a real terminal: npm run test:setup';

/**
 * Returns the `describe` function for tests that press keys in a real terminal. Without tmux, these
 * tests are skipped with a message.
 */
export function describeInTmux(): Pick<SuiteAPI, 'concurrent'> {
  if (!isRequirementMissing(status === 0, missing)) return describe;
  return { concurrent: describe.concurrent.skip as SuiteAPI['concurrent'] };
}
