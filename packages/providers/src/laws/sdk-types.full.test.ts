import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countingIds, type Item, itemId, type JsonValue } from '@millrace/core';
import { expect, onTestFinished, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import { type WireName, wireNames } from '../scripted-server/answers/wire-answer.ts';
import { wireFraming } from '../scripted-server/framing/frame-recording.ts';
import { sseFrames } from '../scripted-server/framing/sse-frames.ts';
import { fieldExtensions } from '../scripted-server/rules/fields/field-extensions.ts';
import { fieldFaults } from '../scripted-server/rules/fields/field-faults.ts';
import { requestFaults, sdkFields } from '../scripted-server/rules/request-faults.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { casesOf, play } from '../testing/play.ts';
import { scenarios, stopSequences } from '../testing/sdk/scenarios.ts';
import { replayOf, type Target, targets } from '../testing/sdk/targets.ts';
import { wireTable } from '../testing/wire-table.ts';

interface Sent {
  readonly name: string;
  readonly wire: WireName;
  readonly model: string;
  readonly hasBetas: boolean;
  readonly body: JsonValue;
}

async function send(target: Target, name: string, request: ModelRequest): Promise<Sent> {
  const { fetch, requests } = fetchOf([]);
  await target.provider(fetch).complete(request, { ids: countingIds() });
  const [sent] = requests;
  if (sent === undefined) throw new Error(`${target.name} did not send ${name}`);
  const { wire, model } = target;
  const hasBetas = sent.headers.has('anthropic-beta');
  return { name: `${target.name}: ${name}`, wire, model, hasBetas, body: sent.body as JsonValue };
}

/** The requests of all scenarios, and those that follow each recorded answer. */
async function allRequests(): Promise<readonly Sent[]> {
  const own = targets.flatMap((target) => {
    const more = target.wire === 'openai-responses' ? [] : [stopSequences];
    const replay = { name: 'a replay', request: replayOf(target) };
    return [...scenarios, ...more, replay].map(({ name, request }) => send(target, name, request));
  });
  const following = wireTable.flatMap((under) =>
    casesOf(under.wire)
      .filter(({ isOwn }) => isOwn || isFull)
      .filter(({ name }) => !Object.keys(notChecked).some((part) => name.includes(part)))
      .map(async ({ name, lines }) => {
        const frames = sseFrames(lines, wireFraming[under.wire]);
        const { completion } = await play(under, name, frames);
        const model = under.wire === 'gemini' ? 'gemini-3-pro' : 'm';
        const provider = (fetcher: typeof fetch) => under.provider(fetcher, name);
        const target = { name: `${under.wire} after ${name}`, wire: under.wire, model, provider };
        return send(target, 'the next request', { items: [ask('1'), completion.item, ask('2')] });
      }),
  );
  return Promise.all([...own, ...following]);
}

const ask = (id: string): Item => ({
  id: itemId(`ask${id}`),
  kind: 'user',
  parts: [{ kind: 'text', text: 'Tide?' }],
});

/** Recorded answers whose data only their own server accepts, by the reason. */
const notChecked: Readonly<Record<string, string>> = {
  'unknown-events': 'has a kind of content that does not exist, which is sent back as it came',
  'id-rotation': 'is of a gateway that gives each event another id',
};

const bodyTypes: Readonly<Record<WireName, string>> = {
  anthropic: 'MessagesBody',
  gemini: 'GeminiBody',
  'openai-chat': 'ChatBody',
  'openai-responses': 'ResponsesBody',
};

/** The requests are collected once, for all tests. */
let collected: Promise<readonly Sent[]> | undefined;
const requests = () => {
  collected ??= allRequests();
  return collected;
};

test('requests break no rule of the providers', async () => {
  const broken = (await requests()).flatMap(({ name, wire, body, model }) =>
    requestFaults(wire, body, model).map((fault) => `${name}: ${fault}`),
  );
  expect(broken).toEqual([]);
});

test('requests have the types of the newest SDKs, and wrong ones are found', async () => {
  const all = await requests();
  const [first] = all;
  if (first === undefined) throw new Error('There are no requests');
  const { model, ...rest } = Object(first.body);
  const thinking = { type: 'enabled', budget_tokens: 2000, tokens: 1 };
  const wrong = [
    { ...first, name: 'more', body: { ...rest, model, temprature: 1 } },
    { ...first, name: 'less', body: rest },
    { ...first, name: 'nested', body: { ...rest, model, thinking } },
  ];
  expect(await typeErrors([...all, ...wrong])).toEqual([
    expect.stringMatching(/^more: .*'"temprature"' does not exist/),
    expect.stringMatching(/^less: .*'model' is missing/),
    expect.stringMatching(/^nested: .*'"tokens"' does not exist/),
  ]);
});

test('each extension of the SDKs is sent by some request', async () => {
  const sent = (await requests()).flatMap(({ wire, body }) =>
    fieldFaults(body, sdkFields[wire]).map((fault) => `${wire}: ${/(\w+): /.exec(fault)?.[1]}`),
  );
  const listed = wireNames.flatMap((wire) =>
    fieldExtensions[wire].map(({ field }) => `${wire}: ${/^\w+/.exec(field)?.[0]}`),
  );
  expect([...new Set(sent)].sort()).toEqual([...new Set(listed)].sort());
});

const root = join(import.meta.dirname, '../../../..');

/** Compiles the bodies as literals. Returns the errors with the names of their requests. */
async function typeErrors(all: readonly Sent[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sdk-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const types = join(import.meta.dirname, '../testing/sdk/sdk-bodies.ts');
  const bodies = [...new Map(all.map((sent) => [literalOf(sent), sent.name]))];
  const lines = [
    `import type * as sdk from ${JSON.stringify(types)};`,
    ...bodies.map(([text]) => text),
  ];
  writeFileSync(join(folder, 'bodies.ts'), lines.join('\n'));
  const config = {
    extends: join(root, 'tsconfig.test.json'),
    ...{ include: [], files: ['bodies.ts'], references: [] },
    compilerOptions: { composite: false, declaration: false, declarationMap: false, types: [] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const printed = await compile(folder);
  // An error has one line for itself, and indented ones for its reasons.
  return printed.split(/\n(?!\s|$)/).flatMap((error) => {
    const [, line, message] = /bodies\.ts\((\d+),\d+\): (.*)$/s.exec(error.trim()) ?? [];
    if (line !== undefined) return `${bodies[Number(line) - 2]?.[1]}: ${message}`;
    return error.trim() === '' ? [] : error;
  });
}

function compile(folder: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '-p', folder, '--pretty', 'false'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (_failure, out, err) =>
      resolve(out + err),
    );
  });
}

function literalOf({ wire, hasBetas, body }: Sent): string {
  const type = hasBetas ? 'BetaMessagesBody' : bodyTypes[wire];
  // TypeScript counts these characters as line ends, and a body must stay on one line.
  const text = JSON.stringify(withoutExtensions(wire, body)).replace(/[\u2028\u2029]/g, ' ');
  return `void (${text.replaceAll(JSON.stringify(missing), '(null as never)')} satisfies sdk.${type});`;
}

/** Stands for a required field that is left out on purpose. */
const missing = '(missing)';

/** Removes the fields that the SDKs do not have, which `fieldExtensions` lists with reasons. */
function withoutExtensions(wire: WireName, body: JsonValue): JsonValue {
  const listed = new Set(fieldExtensions[wire].map(({ field }) => /^\w+/.exec(field)?.[0]));
  const copy = structuredClone(body);
  for (const fault of fieldFaults(body, sdkFields[wire])) {
    const [, path = '', kind] = /^(\S+): (missing|unknown field)$/.exec(fault) ?? [];
    const steps = path.split(/[.[\]]+/).filter(Boolean);
    const field = steps.pop() ?? '';
    if (!listed.has(field)) continue;
    const parent = steps.reduce<object>((value, step) => Reflect.get(value, step), Object(copy));
    if (kind === 'missing') Reflect.set(parent, field, missing);
    else Reflect.deleteProperty(parent, field);
  }
  return copy;
}
