import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  startChat,
  terminalHarness,
  waitForDialog,
} from './testing/terminal-harness.ts';
import { testDaemon } from './testing/test-daemon.ts';

const write = (content: string) => ({
  name: 'write',
  arguments: JSON.stringify({ path: 'poem.txt', content }),
});
const userText = (content: string) => ({ type: 'text', author: 'user', content });

describeInTmux().concurrent('one session on every screen', () => {
  test('23: a run goes to the background in the middle of a sentence, and comes back', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const daemon = testDaemon(context, workspace);
    const terminal = await open({ env, columns: 110 });
    const { reply } = gatedAnswer(['The river ', 'turns the wheel.']);
    server.reply(reply);
    server.answer({ text: 'I write it down.', toolCalls: [write('The river turns the wheel.')] });
    server.answer({ text: 'The poem is stored.' });
    await startChat(terminal);
    await terminal.send('Write a poem');
    await terminal.waitFor('The river');
    await terminal.send('/background');
    await terminal.waitForPrinted('It continues in the background');
    await terminal.waitFor(/\$\s*$/);
    // There is one hint how to return.
    expect(await terminal.scrollback()).not.toContain('To continue: millrace --continue');
    await terminal.saveScreen('background');
    // The daemon has sent the request again, and asks before it writes the file.
    await context.expect.poll(() => server.requests.length).toBe(2);
    await context.expect
      .poll(async () => (await daemon.request('/tasks')).json)
      .toMatchObject([{ task_metadata: { title: 'Write a poem' } }]);
    await terminal.send('clear; until millrace ps | grep waiting; do :; done');
    await terminal.waitFor('Write a poem');
    await terminal.saveScreen('ps');
    await terminal.send('clear; millrace attach');
    await terminal.waitFor('poem.txt');
    await waitForDialog(terminal);
    await terminal.saveScreen('attach');
    await terminal.type('y');
    await terminal.waitFor('The poem is stored.');
    await terminal.waitFor(idleHint);
    const poem = readFileSync(join(workspace.project, 'poem.txt'), 'utf8');
    expect(poem).toBe('The river turns the wheel.');
    expect(server.requests).toHaveLength(3);
    // A link to this session can read it and nothing else.
    await terminal.send('/share 30m');
    const printed = await terminal.waitForPrinted('#token=');
    const [, id = '', token = ''] =
      /tasks\/(\w+)#token=([\w-]{46})/.exec(printed.replaceAll(/\s+/g, '')) ?? [];
    await terminal.saveScreen('share');
    expect(await daemon.request(`/tasks/${id}`, undefined, token)).toMatchObject({ status: 200 });
    const command = { type: 'message', content: userText('Delete it') };
    const refused = await daemon.request(`/tasks/${id}/commands`, command, token);
    expect(refused.status).toBe(403);
    expect((await daemon.request('/access', undefined, token)).json).toMatchObject({
      ...{ scope: 'task', task_id: id, read_only: true },
    });
  });

  test('23: a page watches, steers, approves and stops a run of the terminal', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const daemon = testDaemon(context, workspace);
    const terminal = await open({ env, columns: 110 });
    server.answer({ text: 'May I?', toolCalls: [write('from the terminal')] });
    const { reply, gates } = gatedAnswer(['It is ', 'written.']);
    server.reply(reply);
    const { reply: endless } = gatedAnswer(['For ever ', 'and ever.']);
    server.reply(endless);
    await terminal.send('millrace serve --daemon --port 0 > serve.log 2>&1 &');
    await context.expect
      .poll(() => readFileSync(join(workspace.project, 'serve.log'), 'utf8'))
      .toMatch(/http/);
    await startChat(terminal);
    await terminal.send('Write a file');
    await waitForDialog(terminal);
    const tasks = async () => (await daemon.request('/tasks')).json as { id: string }[];
    await context.expect.poll(async () => (await tasks()).length).toBe(1);
    const [{ id } = { id: '' }] = await tasks();
    const digest = await daemon.request(`/tasks/${id}/digest`);
    expect(digest).toMatchObject({ status: 200 });
    const records = (await daemon.request(`/tasks/${id}/records`)).json;
    const callId = /"tool_call_id":"([^"]+)"|"toolCallId":"([^"]+)"/.exec(JSON.stringify(records));
    const approval = { type: 'approve', tool_call_id: callId?.[1] ?? callId?.[2], by: 'the page' };
    expect(await daemon.request(`/tasks/${id}/commands`, approval)).toMatchObject({ status: 202 });
    await terminal.waitFor('It is');
    expect(readFileSync(join(workspace.project, 'poem.txt'), 'utf8')).toBe('from the terminal');
    const steer = { type: 'message', content: userText('And then?') };
    expect(await daemon.request(`/tasks/${id}/commands`, steer)).toMatchObject({ status: 202 });
    for (const gate of gates) gate.open();
    await terminal.waitFor('And then?');
    await terminal.waitFor('For ever');
    expect(await daemon.request(`/tasks/${id}/commands`, { type: 'abort' })).toMatchObject({
      status: 202,
    });
    await terminal.waitFor('stopped');
    await terminal.waitFor(idleHint);
    expect(server.requests).toHaveLength(3);
  });
});
