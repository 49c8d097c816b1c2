export { McpError, type McpErrorCode } from '../contract/mcp-error.ts';
export type { McpOptions } from '../contract/mcp-options.ts';
export type { McpHttpServer, McpServer, McpStdioServer } from '../contract/mcp-server.ts';
export { connectMcp, type McpTools } from './connect-mcp.ts';
