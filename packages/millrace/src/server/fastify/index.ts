export * from '@millrace/server/fastify';
