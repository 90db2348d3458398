"""Controllers at several sites: dask workers that open agents on their hosts and measure."""
