package channel

// Named returns the channel of that name; nil if there is none.
func Named(channels []Channel, name string) Channel {
	for _, c := range channels {
		if c.Name() == name {
			return Current(c)
		}
	}
	return nil
}
