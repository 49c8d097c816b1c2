export * from '@millrace/server/postgres';
