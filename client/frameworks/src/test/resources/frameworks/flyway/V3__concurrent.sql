create index concurrently customer_by_mood on customer (mood);
