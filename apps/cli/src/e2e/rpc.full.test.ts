import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decodeEvent, type JsonObject } from '@millrace/core';
import { expect, test } from 'vitest';
import { builtProgram } from '../testing/built-program.ts';
import { gatedAnswer } from './testing/scripted-model.ts';
import { programHarness } from './testing/test-program.ts';

const write = (path: string) => ({
  name: 'write',
  arguments: JSON.stringify({ path, content: 'new\n' }),
});
/** Joins the deltas of each text to one event, with the offset of the last one. */
function joinDeltas(events: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const isNext = event['type'] === 'assistant_text_delta' && last?.['partId'] === event['partId'];
    if (!isNext || last === undefined) joined.push(event);
    else
      joined[joined.length - 1] = {
        ...event,
        at: last['at'] ?? 0,
        text: `${last['text']}${event['text']}`,
      };
  }
  return joined;
}

const clients = resolve(import.meta.dirname, '../../../../clients/python');

test('24.9: a message gets events and a result, and the terminal continues the session', async (context) => {
  const { server, open, workspace } = await programHarness(context);
  const program = await open();
  const { session, offset } = await program.call('session.open', {});
  expect(offset).toBe(0);
  server.answer({ text: 'Hello there.' });
  await program.call('session.send', { session: session as string, text: 'Hello', message: 'm1' });
  expect(await program.call('session.wait', { session: session as string })).toEqual({
    stop: { reason: 'stop' },
    answer: 'Hello there.',
  });
  // A message with the same id is sent once.
  const again = { session: session as string, text: 'Hello', message: 'm1' };
  expect(await program.call('session.send', again)).toEqual({ message: 'm1', isNew: false });
  const events = program.events(session as string);
  for (const event of events) decodeEvent(JSON.stringify(event));
  expect(events.map(({ offset: at }) => at)).toEqual(
    events.map(({ offset: at }) => at).toSorted((a, b) => Number(a) - Number(b)),
  );
  expect(events.at(-1)).toMatchObject({ type: 'run_finished' });
  expect(await program.call('session.read', { session: session as string })).toMatchObject({
    isRunning: false,
    items: [{ kind: 'user' }, { kind: 'assistant' }],
  });
  expect(await program.quit()).toBe(0);
  expect(program.stderr()).toBe('');
  // A second program reads the events after an offset, and the rest of the list is the same.
  const later = await open();
  const middle = Number(events[3]?.['offset']);
  await later.call('session.open', { session: session as string, after: middle });
  // The log joins the deltas of a text after its end, so only their joined text is the same.
  expect(joinDeltas(later.events(session as string))).toEqual(
    joinDeltas(events.filter(({ offset: at }) => Number(at) > middle)),
  );
  expect(await later.call('session.list', { cwd: workspace.project })).toMatchObject({
    sessions: [{ session, title: 'Hello', cwd: workspace.project }],
  });
});

test('24.9: calls wait for an answer, and a stop ends the run', async (context) => {
  const { server, open, workspace } = await programHarness(context);
  const program = await open();
  const opened = await program.call('session.open', {});
  const session = opened['session'] as string;
  server.answer({ toolCalls: [write('good.txt'), write('bad.txt')] });
  const { reply, gates } = gatedAnswer(['Now I ', 'go on.']);
  server.reply(reply);
  await program.call('session.send', { session, text: 'Write them' });
  const asked = await program.waitFor(
    ({ method, params }) =>
      method === 'approvals' && JSON.stringify(params).split('"call"').length === 3,
  );
  const waiting = asked.params?.['waiting'] as readonly { call: string; input: { path: string } }[];
  for (const { call, input } of waiting)
    if (input.path === 'good.txt') await program.call('session.approve', { session, call });
    else await program.call('session.deny', { session, call, reason: 'Not this one.' });
  await program.waitFor(({ params }) => JSON.stringify(params ?? {}).includes('Now I '));
  const wrong = await program.request('session.approve', { session, call: waiting[0]?.call ?? '' });
  expect(wrong.error).toMatchObject({ code: -32_602, data: { call: waiting[0]?.call } });
  await program.call('session.stop', { session });
  expect(await program.call('session.wait', { session })).toMatchObject({
    stop: { reason: 'aborted' },
  });
  for (const gate of gates) gate.open();
  expect(readFileSync(join(workspace.project, 'good.txt'), 'utf8')).toBe('new\n');
  expect(existsSync(join(workspace.project, 'bad.txt'))).toBe(false);
  expect(JSON.stringify(server.requests[1]?.body)).toContain('Not this one.');
});

test('23: the end of a background command wakes the model', async (context) => {
  const { server, open, workspace } = await programHarness(context);
  const program = await open('--yes', '--sandbox', 'off');
  const opened = await program.call('session.open', {});
  const session = opened['session'] as string;
  const command = 'while [ ! -e go ]; do sleep 0.05; done; exit 3';
  const input = JSON.stringify({ command, background: true });
  server.answer({ toolCalls: [{ name: 'bash', arguments: input }] });
  server.answer({ text: 'It runs.' });
  server.answer({ text: 'It has failed.' });
  await program.call('session.send', { session, text: 'Start it' });
  expect(await program.call('session.wait', { session })).toMatchObject({ answer: 'It runs.' });
  writeFileSync(join(workspace.project, 'go'), '');
  await program.waitFor(({ params }) => JSON.stringify(params ?? {}).includes('It has failed.'));
  expect(JSON.stringify(server.requests[2]?.body)).toContain('ended with exit code 3');
  expect(server.requests).toHaveLength(3);
});

test('24.9: after kill -9, another program continues the session without losing a record', async (context) => {
  const { server, open } = await programHarness(context);
  const first = await open();
  const { session: id } = await first.call('session.open', {});
  const session = id as string;
  server.reply(gatedAnswer(['One. ', 'Two.']).reply);
  await first.call('session.send', { session, text: 'Count' });
  await first.waitFor(({ params }) => JSON.stringify(params ?? {}).includes('One. '));
  await first.kill();
  const seen = first.events(session);
  const second = await open();
  server.answer({ text: 'One. Two. Three.' });
  await second.call('session.open', { session, after: 0 });
  expect(second.events(session).slice(0, seen.length)).toEqual(seen);
  await second.call('session.continue', { session });
  expect(await second.call('session.wait', { session })).toMatchObject({
    ...{ stop: { reason: 'stop' }, answer: 'One. Two. Three.' },
  });
});

test('24.9: wrong lines, methods, fields and versions get errors, and the program goes on', async (context) => {
  const { open } = await programHarness(context);
  const program = await open();
  program.writeLine('{');
  program.writeLine('[]');
  await program.waitFor(({ error }) => error?.code === -32_700);
  await program.waitFor(({ error }) => error?.code === -32_600);
  const errorOf = async (method: string, params: Record<string, string | number>) =>
    (await program.request(method, params)).error;
  expect(await errorOf('initialize', { version: 2 })).toMatchObject({ data: { versions: [1] } });
  expect(await errorOf('session.forget', {})).toMatchObject({ code: -32_601 });
  expect(await errorOf('session.open', { folder: '.' })).toMatchObject({ code: -32_602 });
  expect(await errorOf('session.open', { session: 'none' })).toMatchObject({
    data: { code: 'no_such_session' },
  });
  expect(await errorOf('session.send', { session: 'none', text: 'x' })).toMatchObject({
    message: 'The session is not open. Call session.open first',
  });
  program.writeLine('x'.repeat(33 * 1024 * 1024));
  expect(await program.call('session.open', {})).toMatchObject({ offset: 0 });
  expect(await program.quit()).toBe(0);
});

test('24.9: the Python client asks, streams, decides about calls and reports errors', async (context) => {
  const { server, workspace, env } = await programHarness(context);
  server.answer({ text: 'Hi from the model.' });
  server.answer({ toolCalls: [write('good.txt'), write('bad.txt')] });
  server.answer({ text: 'Written.' });
  const script = `
import sys
from millrace import Millrace, MillraceError
with Millrace([${JSON.stringify(process.execPath)}, ${JSON.stringify(builtProgram())}, "rpc"]) as agent:
    session = agent.open(cwd=".", approve=lambda call: call["input"]["path"] == "good.txt")
    print(session.ask("Hello").answer)
    print("".join(e.get("text", "") for e in session.stream("Write") if e["type"] == "assistant_text_delta"))
    print(session.wait().stop["reason"], [s["title"] for s in agent.list()])
    try:
        agent.call("session.send", session="none", text="x")
    except MillraceError as error:
        print(error.code)
`;
  const child = spawn('python3', ['-c', script], {
    ...{ cwd: workspace.project, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { ...workspace.env, ...env, PYTHONPATH: clients, PYTHONDONTWRITEBYTECODE: '1' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (bytes: Buffer) => {
      output += bytes.toString('utf8');
    });
  await once(child, 'close');
  expect(output).toBe("Hi from the model.\nWritten.\nstop ['Hello']\n-32602\n");
  expect(existsSync(join(workspace.project, 'bad.txt'))).toBe(false);
});
