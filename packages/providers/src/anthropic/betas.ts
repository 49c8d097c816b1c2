import type { Turn } from './messages.ts';

/** Blocks that the API reads back only where the feature that made them is on. */
const betaOf: Readonly<Record<string, string>> = {
  compaction: 'compact-2026-01-12',
  fallback: 'server-side-fallback-2026-07-01',
  mcp_tool_use: 'mcp-client-2025-11-20',
  mcp_tool_result: 'mcp-client-2025-11-20',
};

const dateLength = '2026-01-12'.length;

/** The features that were asked for and those that the history needs, each in one version. */
export function betasFor(asked: readonly string[], turns: readonly Turn[]): readonly string[] {
  const types = turns.flatMap(({ content }) => content.map(({ type }) => String(type)));
  const needed = new Set(
    types.flatMap((type) => (Object.hasOwn(betaOf, type) ? (betaOf[type] ?? []) : [])),
  );
  const isAsked = (beta: string) =>
    asked.some((one) => one.slice(0, -dateLength) === beta.slice(0, -dateLength));
  return [...asked, ...[...needed].filter((beta) => !isAsked(beta))];
}
