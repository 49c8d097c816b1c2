export * from '@millrace/log/suite';
