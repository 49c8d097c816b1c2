export { type AgUiAgentOptions, agUiAgent } from './ag-ui/ag-ui-agent.ts';
export type { RemoteEvent, RemotePeer, RemoteRequest } from './contract.ts';
export { type RemoteAgentOptions, remoteAgent } from './remote-agent.ts';
