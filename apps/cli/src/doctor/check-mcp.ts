import { connectServer } from '../agent/mcp-servers.ts';
import type { ConfiguredMcpServer } from '../contract/config.ts';
import { countOf } from '../print/text-table.ts';
import type { Check, Finding } from './check.ts';

/** Starts each MCP server of the configuration, lists its tools, and stops it again. */
export const checkMcpServers: Check = async ({ config }) =>
  Promise.all((config?.mcpServers ?? []).map(checkServer));

async function checkServer(server: ConfiguredMcpServer): Promise<Finding> {
  const about = 'mcp';
  const problems: string[] = [];
  const outcome = await connectServer(server, (problem) => problems.push(problem));
  if ('problem' in outcome) {
    const advice = `Check mcpServers.${server.name} in your configuration. For a slow server, set its connectTimeoutMs`;
    return { about, state: 'fail', text: outcome.problem, advice };
  }
  const tools = countOf(outcome.connected.tools.length, 'tool');
  await outcome.connected.close();
  const text = `The MCP server ${server.name} offers ${tools}`;
  if (problems.length === 0) return { about, state: 'ok', text };
  return { about, state: 'warn', text: `${text}. ${problems.join('. ')}` };
}
