import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  startChat,
  terminalHarness,
} from './testing/terminal-harness.ts';

describeInTmux().concurrent('modes in a real terminal', () => {
  test('a plan, the question, and the work with accepted edits', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const terminal = await open({ env });
    const write = (content: string) => ({
      name: 'write',
      arguments: JSON.stringify({ path: 'plan.txt', content }),
    });
    const tasks = [
      { text: 'Write the file', state: 'doing' },
      { text: 'Check the file', state: 'open' },
    ];
    const todo = { name: 'todo', arguments: JSON.stringify({ tasks }) };
    server.answer({ text: 'I try it.', toolCalls: [write('too early')] });
    server.answer({ text: 'The plan: write plan.txt.' });
    server.answer({ text: 'I start.', toolCalls: [todo, write('as planned')] });
    server.answer({ text: 'It is written.' });
    await startChat(terminal);
    expect(await terminal.waitFor('asks first')).toContain('asks first · ');
    for (const label of ['accepts edits', /auto in the sandbox|plan mode/]) {
      await terminal.press('BTab');
      await terminal.waitFor(label);
    }
    // Keys that arrive together do not change the mode.
    await terminal.typeAtPace('/mode plan', 100);
    await terminal.waitFor('> /mode plan');
    await terminal.typeAtPace('\r', 200);
    await terminal.waitFor('plan mode · ');
    await terminal.send('Make a plan');
    await terminal.waitFor('Go ahead with this plan?');
    await terminal.saveScreen('plan');
    const [first] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain('Plan mode: look and propose');
    expect(JSON.stringify(server.requests[1]?.body)).toContain('The session is in plan mode');
    await terminal.waitFor('Choose an answer');
    await terminal.type('2');
    await terminal.waitFor('It is written.');
    const screen = await terminal.waitFor(idleHint);
    await terminal.saveScreen('tasks');
    expect(screen).toContain('accepts edits · ');
    expect(screen).toMatch(/Tasks: 0 of 2 done *\n {2}▸ Write the file *\n {2}○ Check the file/);
    expect(readFileSync(join(workspace.project, 'plan.txt'), 'utf8')).toBe('as planned');
  });
});
