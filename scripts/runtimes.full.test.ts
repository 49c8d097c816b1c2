import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAgent, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { chromiumPath, launchChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';
import { isRequirementMissing } from '../packages/log/src/testing/external-programs.ts';
import { bundleForWeb } from './runtimes/bundle-for-web.ts';
import { type RuntimeReport, runtimeCases, weatherScript } from './runtimes/conformance.ts';
import {
  isRuntimeMissing,
  programOf,
  type RuntimeName,
  startMiniflare,
} from './runtimes/installed.ts';

const run = promisify(execFile);

/** The bundle of all cases. Every runtime uses the same bundle. */
let code = '';
let url = '';
let folder = '';
let close: () => Promise<void> = async () => {};

beforeAll(async () => {
  const bundle = await bundleForWeb(join(import.meta.dirname, 'runtimes/conformance.ts'));
  expect(bundle.nodeImports).toEqual([]);
  ({ code } = bundle);
  folder = mkdtempSync(join(tmpdir(), 'millrace-runtimes-'));
  const log = memoryLog();
  const tool = defineTool({
    ...{ name: 'weather', description: 'The weather', input: z.object({ city: z.string() }) },
    execute: async ({ city }) => `It rains in ${city}.`,
  });
  // One server serves the clients of all runtimes.
  const provider = scriptedProvider(Array.from({ length: 20 }, () => weatherScript).flat());
  const agent = createAgent({ provider, log, tools: [tool] });
  const agents = [{ type: 'loop', name: 'weather', agent } as const];
  const server = createServer({ tokens: 'none', agents, log });
  ({ url } = await server.listen({ port: 0 }));
  close = () => server.close();
});

afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

function expectAllPassed({ passed, failures }: RuntimeReport): void {
  expect(failures).toEqual([]);
  expect(passed).toBe(runtimeCases(url).length);
}

/** Skips the test if the runtime is not installed. */
const testIn = (name: RuntimeName) => (isRuntimeMissing(name) ? test.skip : test);

/** Runs the cases in a program. The program must end by itself. */
async function runIn(program: string, ...args: readonly string[]): Promise<void> {
  const path = join(folder, 'conformance.mjs');
  const start = `console.log(JSON.stringify(await runCases(runtimeCases(${JSON.stringify(url)}))));`;
  writeFileSync(path, `${code}\n${start}\n`);
  const { stdout } = await run(program, [...args, path], { maxBuffer: 2 ** 26 });
  expectAllPassed(JSON.parse(stdout) as RuntimeReport);
}

describe('20.02: core, providers, log, agent and client pass their cases', () => {
  test('in the Node of the project', () => runIn(process.execPath));
  testIn('node 22')('in Node 22', () => runIn(programOf('node 22')));
  testIn('node 26')('in Node 26', () => runIn(programOf('node 26')));
  testIn('bun')('in Bun', () => runIn(programOf('bun')));
  testIn('deno')('in Deno', () => runIn(programOf('deno'), 'run', '--no-config', '--allow-net'));

  testIn('miniflare')('in workerd', async () => {
    const start = `export default {
      fetch: async () => Response.json(await runCases(runtimeCases(${JSON.stringify(url)}))),
    };`;
    const miniflare = await startMiniflare({
      modules: [{ type: 'ESModule', path: 'worker.mjs', contents: `${code}\n${start}` }],
      compatibilityDate: '2026-07-01',
    });
    try {
      const answer = await miniflare.dispatchFetch('http://worker/');
      expectAllPassed((await answer.json()) as RuntimeReport);
    } finally {
      await miniflare.dispose();
    }
  });

  const missing = 'Chromium is not installed. Run npm run test:setup';
  const hasChromium = !isRequirementMissing(chromiumPath() !== undefined, missing);
  test.skipIf(!hasChromium)('in Chromium', async () => {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      const blank = `${url}/blank-page`;
      const html = { contentType: 'text/html', body: '<!doctype html><title>Cases</title>' };
      await page.route(blank, (route) => route.fulfill(html));
      await page.goto(blank);
      const start = `globalThis.report = runCases(runtimeCases(${JSON.stringify(url)}));`;
      await page.addScriptTag({ type: 'module', content: `${code}\n${start}` });
      await page.waitForFunction('globalThis.report !== undefined');
      expectAllPassed(await page.evaluate<RuntimeReport>('globalThis.report'));
    } finally {
      await browser.close();
    }
  });
});
