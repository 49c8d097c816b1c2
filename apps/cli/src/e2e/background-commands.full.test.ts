import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isGone } from '../../../../packages/tools/src/testing/processes.ts';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  startChat,
  terminalHarness,
} from './testing/terminal-harness.ts';

const bash = (command: string) => ({
  name: 'bash',
  arguments: JSON.stringify({ command, background: true }),
});

describeInTmux().concurrent('background commands in a terminal', () => {
  test('23: a server runs on, is listed and stopped, and the end of a command wakes the model', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const terminal = await open({ env, columns: 100, rows: 30 });
    const work = 'echo $$ > pid; echo listening on port 3000; sleep 1000';
    server.answer({
      text: 'I start both.',
      toolCalls: [bash(work), bash('while [ ! -e go ]; do sleep 0.05; done; exit 3')],
    });
    server.answer({ text: 'Both run.' });
    server.answer({ text: 'The second one has failed.' });
    await startChat(terminal, '--yes --sandbox off');
    await terminal.send('Start both');
    await terminal.waitFor('Both run.');
    await terminal.waitFor(idleHint);
    const pidFile = join(workspace.project, 'pid');
    await expect.poll(() => existsSync(pidFile)).toBe(true);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    // The text and Enter arrive in one write, as over a slow connection.
    await terminal.typeAtOnce('/tasks\r');
    await terminal.waitFor('To stop one');
    await terminal.waitFor('│ listening on port 3000');
    await terminal.saveScreen('tasks');
    writeFileSync(join(workspace.project, 'go'), '');
    await terminal.waitFor('The second one has failed.');
    await terminal.waitFor('c2 ended with exit code 3');
    await terminal.saveScreen('woken');
    await terminal.paste('/tasks stop c1', '> /tasks stop c1');
    await terminal.press('Enter');
    await terminal.waitFor('c1 was stopped');
    expect(isGone(pid)).toBe(true);
    await terminal.saveScreen('stopped');
  });
});
