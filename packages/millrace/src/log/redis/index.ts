export * from '@millrace/log/redis';
