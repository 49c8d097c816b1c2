export { type AcpAgent, type AcpAgentOptions, acpAgent } from './acp-agent.ts';
