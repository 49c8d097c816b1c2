import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HttpAgent } from '@ag-ui/client';
import { methods } from '@agentclientprotocol/sdk';
import OpenAI from 'openai';
import { expect, type TestContext, test } from 'vitest';
import { builtPage } from '../../../web/src/e2e/testing/built-page.ts';
import { sharedChromium } from '../../../web/src/e2e/testing/needs-chromium.ts';
import { WatchedBrowser } from '../../../web/src/e2e/testing/watched-browser.ts';
import { builtProgram } from '../testing/built-program.ts';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  startChat,
  terminalHarness,
  withoutLayout,
} from './testing/terminal-harness.ts';
import { testDaemon } from './testing/test-daemon.ts';
import { chunkText, openEditor } from './testing/test-editor.ts';
import type { TestWorkspace } from './testing/test-workspace.ts';

/** One message of the transcript, as every door shows it. */
type Line = readonly [role: string, text: string];

/** Starts the daemon from a folder that also contains the page, as the published package does. */
async function startDaemon(
  context: Pick<TestContext, 'onTestFinished'>,
  workspace: TestWorkspace,
  env: Readonly<Record<string, string>>,
) {
  const installed = join(workspace.folder, 'installed');
  cpSync(dirname(dirname(builtProgram())), installed, { recursive: true });
  cpSync(builtPage(), join(installed, 'web'), { recursive: true });
  const daemon = testDaemon(context, workspace);
  const program = join(installed, 'bundle/main.js');
  spawn(process.execPath, [program, 'serve', '--daemon', '--port', '0'], {
    ...{ cwd: workspace.project, env: { ...workspace.env, ...env }, stdio: 'ignore' },
  });
  await expect.poll(() => daemon.state().url).toMatch(/^http/);
  return daemon;
}

/** Opens the page, the two HTTP clients and the editor of a session that the terminal shows already. */
async function openDoors(
  context: Pick<TestContext, 'onTestFinished'>,
  workspace: TestWorkspace,
  env: Readonly<Record<string, string>>,
  at: { readonly url: string; readonly token: string; readonly session: string },
) {
  const { url, token, session } = at;
  // The page draws only the messages in its window.
  const viewport = { width: 1000, height: 4000 };
  const visitor = await WatchedBrowser.open(await sharedChromium(), url, { viewport });
  context.onTestFinished(() => visitor.close());
  const page = await visitor.tab(`/app/tasks/${session}#token=${token}`);
  const editor = await openEditor({ workspace, env });
  context.onTestFinished(async () => void (await editor.quit()));
  const params = { sessionId: session, cwd: workspace.project, mcpServers: [] };
  await editor.agent.request(methods.agent.session.load, params);
  const openai = new OpenAI({ apiKey: token, baseURL: `${url}/v1`, maxRetries: 0 });
  const agui = new HttpAgent({
    url: `${url}/agents/name/terminal/ag-ui?on_close=stop`,
    ...{ threadId: session, headers: { authorization: `Bearer ${token}` } },
  });
  return { visitor, page, editor, openai, agui };
}

/** Follows a response with the client of OpenAI. */
function followResponse(openai: OpenAI, id: string) {
  let [text, status] = ['', ''];
  const read = async () => {
    for await (const event of await openai.responses.retrieve(id, { stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      if ('response' in event) status = event.response.status ?? '';
    }
    return status;
  };
  return { text: () => text, end: read() };
}

/** Runs the client of AG-UI. Without a new message, it follows the newest run of its thread. */
async function runAgUi(agui: HttpAgent): Promise<unknown> {
  const outcomes: unknown[] = [];
  await agui.runAgent({}, { onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome) });
  return outcomes.at(-1);
}

describeInTmux().concurrent('one session at five doors', () => {
  test('24: each door writes, all doors show the same, and each door stops a run of another', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, files);
    const daemon = await startDaemon(context, workspace, env);
    const terminal = await open({ env, columns: 110, rows: 40 });
    for (const round of [0, 1, 2, 3, 4, 5])
      server.reply(gatedAnswer([`Answer ${round}.`, ' Nobody reads this.']).reply);
    server.answer({ text: 'The whole answer.' });
    await startChat(terminal);
    await terminal.send('Question 0');
    await terminal.waitFor('Answer 0.');
    await terminal.press('Escape');
    await terminal.waitFor(idleHint);
    const tasks = async () => (await daemon.request('/tasks')).json as { id: string }[];
    await expect.poll(async () => (await tasks()).length).toBe(1);
    const [{ id: session } = { id: '' }] = await tasks();
    const at = { url: daemon.state().url, token: daemon.token(), session };
    const { visitor, page, editor, openai, agui } = await openDoors(context, workspace, env, at);
    const newest = async () => {
      const { metadata } = await openai.conversations.retrieve(session);
      return (metadata as { readonly last_response_id: string }).last_response_id;
    };
    const editorText = () => chunkText(editor.notifications, 'agent_message_chunk');

    let prompt: Promise<unknown> = Promise.resolve();
    let running: Promise<unknown> | undefined;
    const input = (content: string) => ({ id: content, role: 'user', content }) as const;
    const byTerminal = (text: string) => terminal.send(text);
    const byPage = (text: string) => page.send(text);
    const byEditor = async (text: string) => {
      prompt = editor.prompt(session, text);
    };
    const byAgUi = async (text: string) => {
      agui.addMessage(input(text));
      running = runAgUi(agui);
    };
    const byOpenAi = (text: string) =>
      openai.responses.create({ conversation: session, input: text, background: true });
    const rounds = [
      { write: byTerminal, stop: () => page.stop.click() },
      { write: byPage, stop: () => cancelPrompt() },
      { write: byEditor, stop: async () => agui.abortRun() },
      { write: byAgUi, stop: async () => openai.responses.cancel(await newest()) },
      { write: byOpenAi, stop: () => terminal.press('Escape') },
    ];
    const cancelPrompt = () =>
      editor.agent.notify(methods.agent.session.cancel, { sessionId: session });

    let last = await newest();
    for (const [index, { write, stop }] of rounds.entries()) {
      const [question, answer] = [`Question ${index + 1}`, `Answer ${index + 1}.`];
      running = undefined;
      await write(question);
      await expect.poll(newest).not.toBe(last);
      last = await newest();
      const followed = followResponse(openai, last);
      running ??= runAgUi(agui);
      await terminal.waitFor(answer);
      await page.waitForText(answer);
      await expect.poll(editorText).toContain(answer);
      await expect.poll(() => agui.messages.at(-1)?.content).toBe(answer);
      await expect.poll(followed.text).toBe(answer);
      await stop();
      expect(await followed.end).toBe('cancelled');
      const outcome = await running;
      // A client of AG-UI that aborts its request receives no further event.
      if (write !== byEditor) expect(outcome).toEqual({ type: 'cancelled' });
      else expect(await prompt).toBe('cancelled');
      await page.stop.waitFor({ state: 'detached' });
      await terminal.waitFor(idleHint);
    }

    // A run that nobody stops ends at all doors.
    await terminal.send('Question 6');
    await terminal.waitFor('The whole answer.');
    await page.waitForText('The whole answer.');
    await expect.poll(editorText).toContain('The whole answer.');
    expect(await runAgUi(agui)).toEqual({ type: 'success' });
    expect(server.requests).toHaveLength(7);
    const transcript = [0, 1, 2, 3, 4, 5, 6].flatMap((round): readonly Line[] => [
      ['user', `Question ${round}`],
      ['assistant', round < 6 ? `Answer ${round}.` : 'The whole answer.'],
    ]);
    const listed: Line[] = [];
    for await (const item of openai.conversations.items.list(session, { order: 'asc' }))
      if (item.type === 'message')
        listed.push([item.role, String(item.content.map((part) => 'text' in part && part.text))]);
    expect(listed).toEqual(transcript);
    expect(agui.messages.map(({ role, content }) => [role, content])).toEqual(transcript);
    const said = (role: string, isShown = (_: string) => true) =>
      transcript.flatMap(([by, text]) => (by === role && isShown(text) ? [text] : [])).join('');
    expect(editorText()).toBe(said('assistant'));
    // An editor shows the messages of its own prompts itself.
    expect(chunkText(editor.notifications, 'user_message_chunk')).toBe(
      said('user', (text) => text !== 'Question 3'),
    );
    const inOrder = new RegExp(transcript.map(([, text]) => text).join('.*'), 's');
    expect(await page.transcript.innerText()).toMatch(inOrder);
    expect(await page.page.locator('article[data-kind=assistant]').count()).toBe(7);
    expect(withoutLayout(await terminal.scrollback())).toMatch(inOrder);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
