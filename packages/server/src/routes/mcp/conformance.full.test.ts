import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { isRequirementMissing } from '../../../../log/src/testing/external-programs.ts';
import { createServer } from '../../create-server.ts';
import { conformanceAgents, conformanceOptions } from '../../testing/mcp/conformance-fixtures.ts';

// The suite is not a dependency of this package, see scripts/test-setup.ts.
const suiteName = ['@modelcontextprotocol', 'conformance'].join('/');
const suite = fileURLToPath(
  new URL(
    `../../../../../scripts/mcp-suite/node_modules/${suiteName}/dist/index.js`,
    import.meta.url,
  ),
);
const isMissing = isRequirementMissing(
  existsSync(suite),
  'The conformance suite of MCP is not installed. Run npm run test:setup',
);

/** Runs the official conformance suite. Returns the scenarios that fail, and the number of passed checks. */
async function runSuite(revision: string) {
  const log = memoryLog();
  const agents = conformanceAgents(log);
  const server = createServer({ tokens: 'none', log, mcp: conformanceOptions, agents });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const args = [suite, 'server', '--url', `${url}/mcp`, '--requirements', revision];
  // The suite exits with an error if a scenario fails.
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    maxBuffer: 2 ** 26,
  }).catch((error: { readonly stdout: string }) => error);
  const [, summary = ''] = stdout.split('=== SUMMARY ===');
  const failed = [...summary.matchAll(/^✗ (\S+):/gm)].map(([, name]) => name);
  const [, passed, wrong] = /Total: (\d+) passed, (\d+) failed/.exec(summary) ?? [];
  return { failed, passed: Number(passed), wrong: Number(wrong) };
}

test.skipIf(isMissing)(
  '24.4: the server passes all checks of the official conformance suite for 2025-11-25',
  async () => {
    expect(await runSuite('2025-11-25')).toEqual({ failed: [], passed: 79, wrong: 0 });
  },
);

test.skipIf(isMissing)(
  '24.4: the server passes all checks of the official conformance suite for 2026-07-28',
  async () => {
    expect(await runSuite('2026-07-28')).toEqual({ failed: [], passed: 194, wrong: 0 });
  },
);
