export * from '@millrace/providers';
