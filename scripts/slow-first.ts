import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, slowest first. Vitest sorts files by their duration in the last run. A
 * fresh clone, as in CI, has no last run, so Vitest sorts by size. A slow test in a small file
 * would then start last, and the other cores would wait for it. A file that is missing here only
 * makes the tests slower.
 */
const slowest: readonly string[] = [
  'apps/cli/src/e2e/approvals.attack.full.test.ts',
  'packages/log/src/postgres/suite.full.test.ts',
  'scripts/simulate.full.test.ts',
  'packages/log/src/sqlite/suite.full.test.ts',
  'packages/openai-agents/src/temporal/workflow/run-agent.full.test.ts',
  'packages/temporal/src/workflow/agent-workflow.full.test.ts',
  'packages/temporal/src/client/workflow-agent.full.test.ts',
  'packages/tools/src/sandbox/nested-repository.attack.full.test.ts',
  'apps/cli/src/command/start.attack.full.test.ts',
  'apps/cli/src/chat/run-chat-output.full.test.ts',
  'packages/client/src/stopped-server.full.test.ts',
  'packages/agent/src/run/long-sessions.full.test.ts',
  'packages/log/src/redis/suite.full.test.ts',
  'packages/server/src/stream/resume-anywhere.full.test.ts',
  'packages/agent/src/worker/worker-kills.full.test.ts',
  'packages/agent/src/kills.full.test.ts',
  'apps/web/src/e2e/accessible.full.test.ts',
  'apps/web/src/e2e/session.full.test.ts',
  'apps/cli/src/serve/serve-killed.full.test.ts',
  'packages/server/src/cluster.full.test.ts',
  'scripts/examples-server.full.test.ts',
  'scripts/examples-frameworks.full.test.ts',
  'packages/log/src/redis/suite-postgres.full.test.ts',
  'packages/log/src/sqlite/faults-damage.full.test.ts',
  'apps/web/src/e2e/unsent.full.test.ts',
  'apps/web/src/e2e/approval.attack.full.test.ts',
  'apps/cli/src/chat/run-chat-screen.full.test.ts',
  'apps/cli/src/e2e/chat-session.full.test.ts',
  'apps/cli/src/serve/other-user.attack.full.test.ts',
  'packages/log/src/postgres/crashes.full.test.ts',
  'apps/cli/src/e2e/terminal-gate.attack.full.test.ts',
  'packages/log/src/sqlite/processes.full.test.ts',
  'packages/log/src/sqlite/rewrite-crashes.full.test.ts',
  'packages/temporal/src/workflow/several-sessions.full.test.ts',
  'packages/log/src/sqlite/faults-system.full.test.ts',
  'packages/tools/src/workspace/race.full.test.ts',
  'scripts/snippets.test.ts',
  'packages/tools/src/mcp/transport/stdio-transport.test.ts',
  'apps/cli/src/chat/run-chat-dialogs.test.ts',
  'scripts/web-entries.test.ts',
  'packages/react/src/markdown/long-formulas.attack.test.tsx',
  'packages/tools/src/search/grep-tool.test.ts',
  'packages/providers/src/laws/next-request.test.ts',
  'apps/cli/src/main.test.ts',
  'packages/providers/src/transport/stream-endings.test.ts',
  'apps/cli/src/command/run-command.test.ts',
  'packages/log/src/follow/bus.test.ts',
  'apps/cli/src/print/print-server.test.ts',
  'apps/cli/src/agent/build-agent.test.ts',
  'apps/cli/src/chat/run-chat-sessions.test.ts',
  'packages/providers/src/laws/splits.test.ts',
  'packages/tools/src/git/git.attack.test.ts',
  'packages/server/src/ui/ui-view.test.ts',
];

/** Starts the slowest test files first. So no core waits for a long test at the end of a run. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => (a.project === b.project ? rankOf(a) - rankOf(b) : 0));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = slowest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return rank === -1 ? slowest.length : rank;
}
