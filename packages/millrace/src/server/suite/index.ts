export * from '@millrace/server/suite';
