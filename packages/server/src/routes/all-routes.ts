import type { Route } from '../http/route.ts';
import { a2aRoutes } from './a2a/a2a-routes.ts';
import { agUiRoutes } from './ag-ui/ag-ui-routes.ts';
import { agentRoutes } from './agents.ts';
import { chatRoutes } from './chat/chat-routes.ts';
import { eventRoutes } from './events.ts';
import { experimentRoutes } from './experiments/experiment-routes.ts';
import { fileRoutes } from './files/file-routes.ts';
import { appCallRoutes } from './mcp/app-calls.ts';
import { mcpRoutes } from './mcp/mcp-routes.ts';
import { messageRoutes } from './messages.ts';
import { openAiRoutes } from './openai/openai-routes.ts';
import { agentRpcRoutes } from './rpc/agent-rpc.ts';
import { documentRoutes, healthRoutes } from './server.ts';
import { spanRoutes } from './spans.ts';
import { stateRoutes } from './states.ts';
import { statisticsRoutes } from './statistics.ts';
import { streamRoutes } from './streams/stream-routes.ts';
import { subAgentRoutes } from './sub-agents.ts';
import { taskLogRoutes } from './task-log.ts';
import { taskRoutes } from './tasks.ts';
import { tokenRoutes } from './tokens.ts';
import { trackerRoutes } from './trackers.ts';

const routes: readonly Route[] = [
  ...agentRpcRoutes,
  ...agentRoutes,
  ...taskRoutes,
  ...taskLogRoutes,
  ...subAgentRoutes,
  ...appCallRoutes,
  ...fileRoutes,
  ...messageRoutes,
  ...eventRoutes,
  ...stateRoutes,
  ...spanRoutes,
  ...trackerRoutes,
  ...statisticsRoutes,
  ...experimentRoutes,
  ...tokenRoutes,
  ...chatRoutes,
  ...openAiRoutes,
  ...agUiRoutes,
  ...mcpRoutes,
  ...a2aRoutes,
  ...streamRoutes,
  ...healthRoutes,
];

/** All routes of the server, in the order of the OpenAPI document. */
export const allRoutes: readonly Route[] = [...routes, ...documentRoutes(routes)];
