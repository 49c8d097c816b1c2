// A program that uses an MCP server and exits without closing it.
import { connectMcp } from '../mcp/index.ts';
import { call, stdioServer } from './mcp-connections.ts';

const server = await connectMcp(stdioServer(['--deaf']));
const { text } = await call(server, 'pid');
process.stdout.write(text, () => process.exit(0));
