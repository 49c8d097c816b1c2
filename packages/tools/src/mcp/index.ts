export { McpError, type McpErrorCode } from '../contract/mcp-error.ts';
export type {
  McpLogin,
  McpLoginPage,
  McpLogins,
  McpOAuth,
  OpenLoginPage,
} from '../contract/mcp-oauth.ts';
export type { McpOptions } from '../contract/mcp-options.ts';
export type { McpHttpServer, McpServer, McpStdioServer } from '../contract/mcp-server.ts';
export { connectMcp, type McpTools } from './connect-mcp.ts';
export { loginMcp, logoutMcp, type McpLoginOptions } from './oauth/login-mcp.ts';
export { fileMcpLogins, memoryMcpLogins } from './oauth/login-store.ts';
export {
  listenForRedirect,
  type RedirectListener,
  type RedirectListenerOptions,
} from './oauth/redirect-listener.ts';
export type { McpPrompt, McpPromptArgument } from './remote-prompts.ts';
