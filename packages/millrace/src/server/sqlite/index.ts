export * from '@millrace/server/sqlite';
