import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { attemptStatisticsSchema } from '../contract/statistics.ts';
import { type Route, route } from '../http/route.ts';
import { attemptStatistics } from '../inspection/attempt-statistics.ts';

const dayMs = 24 * 3600 * 1000;
const maxRangeMs = 366 * dayMs;

/** Routes with numbers about many tasks. */
export const statisticsRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/statistics/attempts',
    summary: 'Get latency, tokens, cost and errors of model requests in a range of time',
    query: z.object({
      from: z.int().min(0).optional().meta({
        description: 'Start of the range, in milliseconds since 1970. Default: one day before `to`',
      }),
      to: z.int().min(0).optional().meta({
        description: 'End of the range, in milliseconds since 1970. Default: now',
      }),
      agent_name: z.string().max(1024).optional().meta({
        description: 'Only attempts of this agent or sub-agent. Default: all agents',
      }),
      model: z.string().max(1024).optional().meta({
        description: 'Only attempts with this model. Default: all models',
      }),
    }),
    reply: attemptStatisticsSchema,
    async handle({ query }, { service, log, clock }) {
      const to = query.to ?? Math.ceil(clock.now());
      const from = query.from ?? to - dayMs;
      if (from >= to || to - from > maxRangeMs) {
        const message =
          'Cannot compute statistics of this range: `from` must be before `to`, by at most 366 days';
        throw new ServerError('invalid', message);
      }
      const filter = { from, to, agentName: query.agent_name, model: query.model };
      return attemptStatistics(filter, { tasks: service.tasks, log, clock });
    },
  }),
];
