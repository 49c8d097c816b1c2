import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { isRequirementMissing } from '../../../../log/src/testing/external-programs.ts';
import { toolAgent } from '../../agents/tool-agent.ts';
import { createServer } from '../../create-server.ts';
import {
  conformanceLongTools,
  conformanceOptions,
  conformanceTools,
} from '../../testing/mcp/conformance-fixtures.ts';

const suite = fileURLToPath(
  new URL(
    '../../../../../scripts/mcp-suite/node_modules/@modelcontextprotocol/conformance/dist/index.js',
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
  const agent = toolAgent({
    ...{ name: 'tools', tools: conformanceTools, longTools: conformanceLongTools, log },
  });
  const server = createServer({ tokens: 'none', log, mcp: conformanceOptions, agents: [agent] });
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
  '24.4: the official conformance suite passes for 2025-11-25, except for what this server lacks',
  async () => {
    expect(await runSuite('2025-11-25')).toEqual({
      failed: [
        // The server sends no logs. 2026-07-28 deprecates them.
        ...['logging-set-level', 'tools-call-with-logging'],
        // The server does not use the models of clients. 2026-07-28 deprecates it.
        'tools-call-sampling',
        // Only `subscriptions/listen` of 2026-07-28 reports changes.
        ...['resources-subscribe', 'resources-unsubscribe'],
      ],
      ...{ passed: 74, wrong: 5 },
    });
  },
);

test.skipIf(isMissing)(
  '24.4: the official conformance suite passes for 2026-07-28, except for what this server lacks',
  async () => {
    expect(await runSuite('2026-07-28')).toEqual({
      failed: [
        // A tool of the suite needs the model of the client.
        'server-stateless',
        // The suite expects keys of questions that the tool chooses. Here they are ids.
        'input-required-result-basic-elicitation',
        // These tools need the model or the folders of the client, which 2026-07-28 deprecates.
        ...['input-required-result-basic-sampling', 'input-required-result-basic-list-roots'],
        'input-required-result-multiple-input-requests',
        // Prompts ask no questions.
        'input-required-result-non-tool-request',
        // The tool of the suite chooses between a question and a request to the model of the client.
        'input-required-result-capability-check',
        // A run ends with a result, also after an error of the server.
        'tasks-lifecycle',
        // No tool works only as a task, and tools do not ask before a task exists.
        ...['tasks-required-task-error', 'tasks-mrtr-composition'],
      ],
      ...{ passed: 176, wrong: 11 },
    });
  },
);
