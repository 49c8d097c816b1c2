// Mounts the agents in an Express app, next to its other routes.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { server } from '../weather-agent.ts';

const app = express();
app.use('/api/agents', server.handler());
app.use(express.json());
app.get('/', (_request, response) => void response.send('Hello from Express'));

const listening = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
});
