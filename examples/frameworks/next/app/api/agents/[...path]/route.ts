// Mounts the agents in a Next.js app.
import { server } from '../../../../../weather-agent.ts';

export const GET = server.fetch;
export const POST = server.fetch;
export const PUT = server.fetch;
export const PATCH = server.fetch;
export const DELETE = server.fetch;
