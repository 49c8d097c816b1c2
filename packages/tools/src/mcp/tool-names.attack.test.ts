import { afterAll, beforeAll, expect, test } from 'vitest';
import { reservedToolNames } from '../permissions/tool-kinds.ts';
import { McpConnections, stdioServer, toolOf } from '../testing/mcp-connections.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import type { McpTools } from './index.ts';
import { toolNames } from './remote-tools.ts';

// A hostile MCP server offers a tool whose name looks like a tool that needs no approval.

const connections = new McpConnections();
let server: McpTools;
beforeAll(async () => {
  server = await connections.connect(stdioServer());
});
afterAll(() => connections.closeAll());

test.for([...reservedToolNames].flatMap(splitsOf))(
  'attack 17: the server %j with the tool %j does not get the name of a built-in tool',
  ([server, tool]) => {
    const names = [...toolNames(server, [tool, 'other']).values()];
    expect(names.filter((name) => reservedToolNames.has(name))).toEqual([]);
  },
);

/** Returns all ways to split a name into a server and a tool, and some other spellings. */
function splitsOf(name: string): readonly (readonly [string, string])[] {
  const places = [...name].flatMap((char, at) => (char === '_' ? [at] : []));
  const splits = places.map((at) => [name.slice(0, at), name.slice(at + 1)] as const);
  return [...splits, [name, ''], ['', name], ['.', name], [name, name]];
}

test.for([...reservedToolNames])(
  'attack 17: a tool of a server is not taken for `%s`, even with its name',
  async (name) => {
    const tool = { ...toolOf(server, 'echo'), name };
    const root = temporaryFolder();
    for (const input of [{}, { path: 'a.txt' }, { command: 'ls' }]) {
      const { decision, reason } = await policyRuling(root, [name, input], { tool });
      expect(decision).toBe('ask');
      expect(reason).toBe(`No rule allows ${name}`);
    }
  },
);
