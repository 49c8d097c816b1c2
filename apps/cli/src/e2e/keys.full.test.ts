import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  promptText,
  startChat,
  terminalHarness,
} from './testing/terminal-harness.ts';

describeInTmux().concurrent('keys in a real terminal', () => {
  test('during a run, Enter steers and Alt-Enter queues a follow-up', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env });
    const look = { name: 'ls', arguments: '{"path":"."}' };
    const { reply, gates } = gatedAnswer(['I look.', ' Now.'], [look]);
    server.reply(reply);
    server.answer({ text: 'Tomorrow is sunny.' });
    server.answer({ text: 'Next week is rainy.' });
    await startChat(terminal);
    await terminal.send('How is the weather?');
    await terminal.waitFor('I look.');
    await terminal.send('and tomorrow?');
    await terminal.waitFor('↳ next step: and tomorrow?');
    await terminal.type('then next week');
    await terminal.press('M-Enter');
    await terminal.waitFor('↳ queued: then next week');
    await terminal.saveScreen('steering');
    for (const gate of gates) gate.open();
    await terminal.waitFor('Next week is rainy.');
    const screen = await terminal.waitFor(idleHint);
    await terminal.saveScreen('steered');
    expect(screen).toMatch(
      /› How is the weather\?[\s\S]*✓ List [\s\S]*› and tomorrow\?[\s\S]*Tomorrow is sunny\.[\s\S]*› then next week[\s\S]*Next week is rainy\./,
    );
    const bodies = server.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.map((body) => body.includes('and tomorrow?'))).toEqual([false, true, true]);
    expect(bodies.map((body) => body.includes('then next week'))).toEqual([false, false, true]);
  });

  test('parallel calls have a card each', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const terminal = await open({ env });
    const names = ['east', 'west'];
    const pipes = names.map((name) => join(workspace.project, name));
    for (const pipe of pipes) execFileSync('mkfifo', [pipe]);
    const calls = names.map((name) => ({
      name: 'bash',
      arguments: JSON.stringify({ command: `cat ${name}` }),
    }));
    server.answer({ text: 'I listen to both.', toolCalls: calls });
    server.answer({ text: 'Both have spoken.' });
    await startChat(terminal, '--yes');
    await terminal.send('Listen');
    await terminal.waitFor(/\n. \$ cat east {2}[\d.]+ s\n. \$ cat west {2}[\d.]+ s\n/);
    await terminal.waitFor('running 2 tools: bash');
    await terminal.saveScreen('running-tools');
    // The commands end in the opposite order of their start.
    for (const pipe of pipes.toReversed()) await writeFile(pipe, `words of ${pipe}\n`);
    await terminal.waitFor('Both have spoken.');
    const screen = await terminal.waitFor(idleHint);
    expect(screen).toMatch(/✓ \$ cat east[\s\S]*words of [\s\S]*✓ \$ cat west[\s\S]*words of /);
  });

  test('a paste arrives as one piece', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open } = terminalHarness(context, files);
    const terminal = await open({ env });
    server.answer({ text: 'Three lines.' });
    await startChat(terminal);
    await terminal.paste('first line\nsecond line\nthird line', 'third line');
    expect(server.requests).toEqual([]);
    await terminal.saveScreen('pasted');
    await terminal.press('Enter');
    const screen = await terminal.waitFor('Three lines.');
    expect(screen).toMatch(/› first line\n {2}second line\n {2}third line\n/);
    expect(JSON.stringify(server.requests[0]?.body)).toContain(
      'first line\\nsecond line\\nthird line',
    );
    expect(server.requests).toHaveLength(1);
  });

  test('@ completes files, / completes commands, and /help lists them', async (context) => {
    const { open } = terminalHarness(context);
    const terminal = await open();
    await startChat(terminal);
    await terminal.type('@refu');
    await terminal.waitFor('src/refunds.ts');
    await terminal.saveScreen('completion-of-files');
    await terminal.press('Tab');
    await terminal.waitFor(/> @src\/refunds\.ts *\n/);
    await terminal.press('C-u');
    await terminal.waitFor(promptText);
    await terminal.type('/');
    await terminal.waitFor('/resume');
    await terminal.saveScreen('completion-of-commands');
    await terminal.type('he');
    await terminal.waitUntil((screen) => !screen.includes('/resume'), 'only what fits');
    await terminal.press('Enter');
    // The help is longer than the window.
    const help = await terminal.waitFor(/Ctrl-L[\s\S]*Enter sends/);
    await terminal.saveScreen('help');
    expect(help).toMatch(/Alt-Enter/);
  });
});
