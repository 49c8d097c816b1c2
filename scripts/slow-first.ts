import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, slowest first. Vitest sorts files by their duration in the last run. A
 * fresh clone, as in CI, has no last run, so Vitest sorts by size. A slow test in a small file
 * would then start last, and the other cores would wait for it. A file that is missing here only
 * makes the tests slower.
 */
const slowest: readonly string[] = [
  'scripts/simulate.full.test.ts',
  'packages/openai-agents/src/temporal/workflow/run-agent.full.test.ts',
  'packages/temporal/src/workflow/agent-workflow.full.test.ts',
  'packages/temporal/src/client/workflow-agent.full.test.ts',
  'scripts/examples-frameworks.full.test.ts',
  'packages/log/src/redis/suite-postgres.full.test.ts',
  'packages/temporal/src/workflow/several-sessions.full.test.ts',
  'apps/cli/src/serve/serve-killed.full.test.ts',
  'apps/cli/src/command/start.attack.full.test.ts',
  'packages/log/src/postgres/suite.full.test.ts',
  'scripts/examples-server.full.test.ts',
  'packages/server/src/cluster.full.test.ts',
  'packages/client/src/stopped-server.full.test.ts',
  'apps/web/src/e2e/accessible.full.test.ts',
  'apps/cli/src/chat/run-chat-screen.full.test.ts',
  'packages/tools/src/sandbox/nested-repository.attack.full.test.ts',
  'packages/log/src/sqlite/suite.full.test.ts',
  'apps/web/src/e2e/preview.attack.full.test.ts',
  'packages/log/src/postgres/pgbouncer.full.test.ts',
  'packages/agent/src/kills.full.test.ts',
  'apps/web/src/e2e/unsent.full.test.ts',
  'packages/log/src/postgres/crashes.full.test.ts',
  'apps/web/src/e2e/session.full.test.ts',
  'packages/client/src/long-tasks.full.test.ts',
  'apps/web/src/e2e/approval.attack.full.test.ts',
  'apps/cli/src/chat/run-chat-output.full.test.ts',
  'apps/cli/src/serve/other-user.attack.full.test.ts',
  'apps/web/src/e2e/approval.full.test.ts',
  'apps/cli/src/e2e/mcp.full.test.ts',
  'apps/web/src/e2e/inspector.full.test.ts',
  'apps/web/src/e2e/session-list.full.test.ts',
  'apps/web/src/e2e/many-sessions.full.test.ts',
  'packages/tools/src/sandbox/begun-work.attack.full.test.ts',
  'packages/tools/src/sandbox/hidden-repository.attack.full.test.ts',
  'packages/log/src/sqlite/processes.full.test.ts',
  'apps/web/src/e2e/hostile.full.test.ts',
  'packages/tools/src/memory/postgres-store.full.test.ts',
  'apps/web/src/e2e/frames.attack.full.test.ts',
  'packages/server/src/rows/postgres/postgres-rows.full.test.ts',
  'apps/web/src/e2e/layout-shift.full.test.ts',
  'packages/log/src/transfer/many-records.full.test.ts',
  'apps/cli/src/serve/serve-command.full.test.ts',
  'packages/log/src/sqlite/faults-damage.full.test.ts',
  'apps/web/src/e2e/talk.full.test.ts',
  'apps/cli/src/e2e/editor.full.test.ts',
  'scripts/examples.full.test.ts',
  'packages/log/src/sqlite/rewrite-crashes.full.test.ts',
  'apps/web/src/e2e/artifact.attack.full.test.ts',
  'scripts/chaos.full.test.ts',
  'apps/web/src/e2e/languages.full.test.ts',
  'apps/cli/src/e2e/editor-input.attack.full.test.ts',
  'packages/tools/src/sandbox/package-repository.attack.full.test.ts',
  'packages/server/src/routes/streams/killed-server.full.test.ts',
  'apps/cli/src/e2e/approvals.attack.full.test.ts',
  'apps/cli/src/e2e/chat-session.full.test.ts',
  'apps/cli/src/print/print-process.full.test.ts',
  'packages/log/src/postgres/many-processes.full.test.ts',
  'apps/web/src/e2e/pressed-pointer.full.test.ts',
  'scripts/third-party.full.test.ts',
  'scripts/snippets.test.ts',
  'packages/tools/src/permissions/policy.attack.test.ts',
  'apps/cli/src/chat/run-chat-dialogs.test.ts',
  'packages/tools/src/mcp/transport/stdio-transport.test.ts',
  'scripts/web-entries.test.ts',
  'packages/react/src/markdown/long-formulas.attack.test.tsx',
  'packages/tools/src/search/grep-tool.test.ts',
  'apps/cli/src/main.test.ts',
  'packages/react/src/markdown/tree/markdown-tree.test.ts',
  'packages/providers/src/laws/next-request.test.ts',
  'packages/log/src/transfer/transfer.test.ts',
  'packages/providers/src/transport/stream-endings.test.ts',
  'apps/cli/src/print/print-server.test.ts',
  'packages/log/src/follow/bus.test.ts',
  'packages/tools/src/permissions/prefix-rules.attack.test.ts',
  'packages/server/src/routes/chat/chat-costs.test.ts',
  'apps/cli/src/agent/isolated-folder.attack.test.ts',
  'apps/cli/src/command/run-command.test.ts',
  'packages/tools/src/git/git.attack.test.ts',
  'packages/providers/src/laws/splits.test.ts',
  'apps/cli/src/chat/unseen-form.attack.test.ts',
  'packages/server/src/routes/cross-scope.attack.test.ts',
  'apps/cli/src/chat/dialog/approval-law.attack.test.ts',
  'apps/cli/src/agent/build-agent.test.ts',
  'apps/cli/src/chat/commands/command-table.test.ts',
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
