export { connectMcp, type McpTools } from './connect-mcp.ts';
export { McpError, type McpErrorCode } from './mcp-error.ts';
export type { McpOptions } from './mcp-options.ts';
export type { McpHttpServer, McpServer, McpStdioServer } from './mcp-server.ts';
